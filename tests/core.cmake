# Tests of the base library, and of the analyzer below its views.
if(NOT TARGET PkgConfig::CMOCKA)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()

# A helper for everybody's tests: makes traces.
add_library(vt_trace_builder STATIC unit/trace_builder.c)
target_include_directories(vt_trace_builder PUBLIC unit)
target_link_libraries(vt_trace_builder PUBLIC vt_schema)

foreach(stem base screen)
  add_executable(test_${stem} unit/test_${stem}.c)
  target_link_libraries(test_${stem} PRIVATE vt_analyze vt_trace_builder PkgConfig::CMOCKA)
  add_test(NAME unit.${stem} COMMAND test_${stem})
endforeach()

add_executable(test_python_lines unit/test_python_lines.c)
target_link_libraries(test_python_lines PRIVATE vt_analyze PkgConfig::CMOCKA)
add_test(NAME unit.python_lines COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/unit/python_lines.sh $<TARGET_FILE:test_python_lines>)
set_tests_properties(unit.python_lines PROPERTIES SKIP_RETURN_CODE 77)

# What needs a trace file.
foreach(stem cursor replay symbols)
  add_executable(test_${stem} unit/test_${stem}.c)
  target_link_libraries(test_${stem} PRIVATE vt_analyze vt_trace_builder PkgConfig::CMOCKA)
  add_test(NAME unit.${stem} COMMAND test_${stem})
endforeach()
add_executable(bench_replay bench/bench_replay.c)
target_link_libraries(bench_replay PRIVATE vt_analyze vt_trace_builder)
add_executable(bench_simulate bench/bench_simulate.c)
target_link_libraries(bench_simulate PRIVATE vt_analyze)

find_package(Python3 COMPONENTS Interpreter REQUIRED)
add_test(NAME e2e.check_info COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/e2e/check_info.py
  $<TARGET_FILE:vramtrace> $<TARGET_FILE:make_views_trace>)
add_test(NAME e2e.command_line COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/e2e/command_line.sh $<TARGET_FILE:vramtrace>)
