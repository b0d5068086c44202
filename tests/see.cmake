# Tests of what people look at: flame graphs, the page, the terminal.
add_test(NAME e2e.flame COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/flame.py $<TARGET_FILE:vramtrace>
  $<TARGET_FILE:make_views_trace> ${VT_REAL_TRACES})
add_executable(make_hostile_trace unit/make_hostile_trace.c)
target_link_libraries(make_hostile_trace PRIVATE vt_trace_builder)
add_test(NAME e2e.page COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/page.py $<TARGET_FILE:vramtrace>
  $<TARGET_FILE:make_views_trace> $<TARGET_FILE:make_hostile_trace> ${VT_REAL_TRACES})
add_executable(bench_page bench/bench_page.c)
target_link_libraries(bench_page PRIVATE vt_analyze vt_trace_builder)
add_test(NAME e2e.open COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/open.py $<TARGET_FILE:vramtrace> ${VT_REAL_TRACES})
# Python is not built for thread sanitizer.
if(NOT VT_SANITIZE MATCHES thread)
  add_test(NAME e2e.live COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/live.py ${PROJECT_BINARY_DIR}/bin
    ${PROJECT_BINARY_DIR}/tests/fake)
  set_tests_properties(e2e.live PROPERTIES
    ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0:handle_segv=0:handle_abort=0")
endif()
add_test(NAME e2e.speedscope COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/speedscope.py $<TARGET_FILE:vramtrace> ${VT_REAL_TRACES})

if(NOT TARGET PkgConfig::CMOCKA)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()
add_executable(test_page unit/test_page.c)
target_link_libraries(test_page PRIVATE vt_analyze vt_trace_builder PkgConfig::CMOCKA)
add_test(NAME unit.page COMMAND test_page)
add_test(NAME e2e.random COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/e2e/random.sh $<TARGET_FILE:vramtrace> $<TARGET_FILE:make_schema_trace>)
