# find_package(onward): the library onward::onward, whose headers are <onward/...>.
include(${CMAKE_CURRENT_LIST_DIR}/packages.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/onwardTargets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/custom_ops.cmake)
