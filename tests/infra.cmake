# The house rules that a script can check. `./run lint` checks more, with clang's tools.
if(VT_SANITIZE)
  return() # the text of the sources is the same in every build
endif()
set(arch ${CMAKE_CURRENT_SOURCE_DIR}/arch)
add_test(NAME arch.includes COMMAND ${arch}/check_includes.sh ${PROJECT_SOURCE_DIR})
add_test(NAME arch.sizes COMMAND ${arch}/check_sizes.sh ${PROJECT_SOURCE_DIR})
add_test(NAME arch.words COMMAND ${arch}/check_words.sh ${PROJECT_SOURCE_DIR})
add_test(NAME arch.man COMMAND ${arch}/check_man.sh ${PROJECT_SOURCE_DIR})
