# Tests of the collector and of `vramtrace record`.
if(NOT TARGET PkgConfig::CMOCKA)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()

foreach(stem sort quote proc_stat session)
  add_executable(test_${stem} unit/test_${stem}.c)
  target_link_libraries(test_${stem} PRIVATE vt_launch PkgConfig::CMOCKA Threads::Threads)
  add_test(NAME unit.${stem} COMMAND test_${stem})
endforeach()

add_library(vt_collector_tests STATIC fake/ring_maker.c fake/trace_facts.c)
target_link_libraries(vt_collector_tests PUBLIC vt_collector)

foreach(stem batch collector)
  add_executable(test_${stem} unit/test_${stem}.c)
  target_link_libraries(test_${stem} PRIVATE vt_collector_tests PkgConfig::CMOCKA)
  add_test(NAME unit.${stem} COMMAND test_${stem})
endforeach()

add_executable(bench_collector bench/bench_collector.c)
target_link_libraries(bench_collector PRIVATE vt_collector_tests)
add_executable(print_facts fake/print_facts.c)
target_link_libraries(print_facts PRIVATE vt_collector_tests)
set_target_properties(print_facts PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fake)

find_program(VT_PYTHON3 python3)
if(VT_PYTHON3)
  set(patience 1)
  if(VT_SANITIZE)
    set(patience 8)
  endif()
  foreach(name record signals resume kill)
    add_test(NAME e2e.${name} COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/${name}.py
      ${PROJECT_BINARY_DIR}/bin ${PROJECT_BINARY_DIR}/tests/fake)
    # A sanitized agent in a plain program: its runtime comes late, and a deadly signal must stay one.
    set_tests_properties(e2e.${name} PROPERTIES ENVIRONMENT
      "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0:handle_segv=0:handle_abort=0;TSAN_OPTIONS=handle_segv=0:handle_abort=0;VT_PATIENCE=${patience}")
  endforeach()
  set_tests_properties(e2e.resume PROPERTIES RUN_SERIAL ON) # it measures how far a killed recorder had come
endif()

add_test(NAME e2e.install COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/e2e/install.sh ${PROJECT_BINARY_DIR} ${CMAKE_COMMAND})
set_tests_properties(e2e.install PROPERTIES ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0")
