# find_package(onward): the library onward::executors (onward::Session) and those below it.
include(${CMAKE_CURRENT_LIST_DIR}/packages.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/onwardTargets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/custom_ops.cmake)
