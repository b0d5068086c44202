# Tests of the Perfetto export.
set(VT_REAL_TRACES ${CMAKE_CURRENT_SOURCE_DIR}/data/h200_train.vramtrace ${CMAKE_CURRENT_SOURCE_DIR}/data/h200_leak.vramtrace
  ${CMAKE_CURRENT_SOURCE_DIR}/data/h200_oom.vramtrace)
if(NOT TARGET PkgConfig::CMOCKA)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()
add_executable(make_perfetto_trace unit/make_perfetto_trace.c unit/perfetto_scenario.c)
target_link_libraries(make_perfetto_trace PRIVATE vt_trace_builder)

# Against Perfetto's published descriptors and, where it is there, trace_processor: see the head of the file.
add_test(NAME e2e.perfetto COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/perfetto_export.py $<TARGET_FILE:vramtrace>
  $<TARGET_FILE:make_perfetto_trace> $<TARGET_FILE:make_views_trace>
  ${CMAKE_CURRENT_SOURCE_DIR}/data/h200_train.vramtrace)

add_executable(bench_perfetto bench/bench_perfetto.c)
target_link_libraries(bench_perfetto PRIVATE vt_analyze vt_trace_builder)
add_test(NAME e2e.perfetto_sql COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/perfetto_sql.py $<TARGET_FILE:vramtrace>
  ${PROJECT_SOURCE_DIR}/docs/perfetto.sql ${VT_REAL_TRACES})
