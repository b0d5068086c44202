# Tests of the reports: report, oom, ops.
if(NOT TARGET PkgConfig::CMOCKA)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()
foreach(stem replay_requested views_groups views_libraries views_parts views_rules views_segments views_space simulate)
  add_executable(test_${stem} unit/test_${stem}.c unit/array_cursor.c)
  target_link_libraries(test_${stem} PRIVATE vt_analyze PkgConfig::CMOCKA)
  add_test(NAME unit.${stem} COMMAND test_${stem})
endforeach()

# A trace made by hand, and the reports over it.
add_executable(test_views_kernels unit/test_views_kernels.c)
target_link_libraries(test_views_kernels PRIVATE vt_analyze vt_trace_builder PkgConfig::CMOCKA)
add_test(NAME unit.views_kernels COMMAND test_views_kernels)
add_executable(test_views_trace unit/test_views_trace.c unit/views_scenario.c)
target_link_libraries(test_views_trace PRIVATE vt_analyze vt_trace_builder PkgConfig::CMOCKA)
add_test(NAME unit.views_trace COMMAND test_views_trace)
add_executable(test_views_cases unit/test_views_cases.c)
target_link_libraries(test_views_cases PRIVATE vt_analyze vt_trace_builder PkgConfig::CMOCKA)
add_test(NAME unit.views_cases COMMAND test_views_cases)
add_executable(make_views_trace unit/make_views_trace.c unit/views_scenario.c)
target_link_libraries(make_views_trace PRIVATE vt_trace_builder)
add_test(NAME e2e.views COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/e2e/views_golden.sh $<TARGET_FILE:vramtrace>
  $<TARGET_FILE:make_views_trace>)

# On a real PyTorch, which the sanitizers cannot run.
if(NOT VT_SANITIZE)
  find_program(VT_PYTHON3 python3)
  add_test(NAME e2e.ops_key_averages COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/ops_key_averages.py
    $<TARGET_FILE:vramtrace>)
  add_test(NAME e2e.categories COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/categories.py
    $<TARGET_FILE:vramtrace>)
  add_test(NAME e2e.links COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/links.py $<TARGET_FILE:vramtrace>)
  add_test(NAME e2e.modules COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/modules.py $<TARGET_FILE:vramtrace>)
  add_test(NAME e2e.stack_truth COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/stack_truth.py
    $<TARGET_FILE_DIR:vramtrace>)
  add_test(NAME e2e.compiled COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/compiled.py $<TARGET_FILE:vramtrace>)
  add_test(NAME device.attrib COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/device/test_attrib.py)
  # What the GPU tests compare with torch.profiler can be compared on the host too.
  add_test(NAME e2e.op_truth COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/device/attrib.py
    $<TARGET_FILE_DIR:vramtrace> --device cpu --only ops --out ${CMAKE_CURRENT_BINARY_DIR})
  add_test(NAME e2e.requested COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/requested.py $<TARGET_FILE:vramtrace>)
  set_tests_properties(e2e.ops_key_averages e2e.categories e2e.links e2e.modules e2e.stack_truth e2e.op_truth e2e.compiled
    PROPERTIES SKIP_RETURN_CODE 77)
endif()

# What blocks are for.
add_executable(test_attribute unit/test_attribute.c)
target_link_libraries(test_attribute PRIVATE vt_analyze vt_trace_builder PkgConfig::CMOCKA)
add_test(NAME unit.attribute COMMAND test_attribute)
add_executable(test_generated unit/test_generated.c)
target_link_libraries(test_generated PRIVATE vt_analyze PkgConfig::CMOCKA)
add_test(NAME unit.generated COMMAND test_generated)
add_executable(test_links unit/test_links.c)
target_link_libraries(test_links PRIVATE vt_analyze vt_trace_builder PkgConfig::CMOCKA)
add_test(NAME unit.links COMMAND test_links)
