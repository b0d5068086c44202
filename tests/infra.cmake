# Real PyTorch on the CPU, end to end, against torch.profiler. Python is not built for thread sanitizer.
if(VT_PYTHON3 AND TARGET vramtrace-record AND NOT VT_SANITIZE MATCHES thread)
  add_test(NAME e2e.torch_truth COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/torch_truth.py ${PROJECT_BINARY_DIR}/bin)
  set_tests_properties(e2e.torch_truth PROPERTIES
    ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0:handle_segv=0:handle_abort=0")
endif()

# The house rules that a script can check. `./run lint` checks more, with clang's tools.
if(VT_SANITIZE)
  return() # the text of the sources is the same in every build
endif()
add_test(NAME device.check_torch COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/device/test_check_torch.py ${PROJECT_BINARY_DIR}/bin)
set(arch ${CMAKE_CURRENT_SOURCE_DIR}/arch)
add_test(NAME arch.includes COMMAND ${arch}/check_includes.sh ${PROJECT_SOURCE_DIR})
add_test(NAME arch.sizes COMMAND ${arch}/check_sizes.sh ${PROJECT_SOURCE_DIR})
add_test(NAME arch.words COMMAND ${arch}/check_words.sh ${PROJECT_SOURCE_DIR})
add_test(NAME arch.man COMMAND ${arch}/check_man.sh ${PROJECT_SOURCE_DIR})
add_test(NAME arch.docs COMMAND ${arch}/check_docs.sh $<TARGET_FILE:vramtrace> ${PROJECT_SOURCE_DIR})
add_test(NAME arch.links COMMAND ${arch}/check_links.sh ${PROJECT_SOURCE_DIR})
