# The decoders of ImageDecoder whose libraries are optional. A model that meets a format whose library was not found is told so.
function(onward_image_codec source definition library)
  if(TARGET ${library})
    target_link_libraries(onward_files PUBLIC ${library})
    target_compile_definitions(onward_files PRIVATE ${definition})
  else()
    set_source_files_properties(${CMAKE_SOURCE_DIR}/files/image/${source} PROPERTIES HEADER_FILE_ONLY ON)
  endif()
endfunction()

onward_image_codec(jpeg2000.cc ONWARD_JPEG2000 PkgConfig::OPENJPEG)
onward_image_codec(tiff.cc ONWARD_TIFF TIFF::TIFF)
onward_image_codec(webp.cc ONWARD_WEBP PkgConfig::WEBP)
