# Training in several processes: optional. Without the package `onward launch` says what is missing.
if(TARGET gloo)
  target_link_libraries(onward_collectives PRIVATE gloo)
  target_compile_definitions(onward_collectives PRIVATE ONWARD_GLOO)
endif()
