# Tests of the agent: a fake libc10, programs that use it, and looks into the rings.
add_library(fake_c10 SHARED fake/fake_c10.c)
target_link_libraries(fake_c10 PRIVATE vt_options Threads::Threads)
set_target_properties(fake_c10 PROPERTIES OUTPUT_NAME c10 LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fake)

add_library(fake_aten SHARED fake/fake_aten.c)
target_link_libraries(fake_aten PRIVATE vt_options)
set_target_properties(fake_aten PROPERTIES OUTPUT_NAME torch_cpu
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fake)

add_executable(fake_torch fake/fake_torch.c)
target_link_libraries(fake_torch PRIVATE vt_options fake_c10 Threads::Threads)
add_executable(dump_rings fake/dump_rings.c)
target_link_libraries(dump_rings PRIVATE vt_ring vt_schema)
set_target_properties(fake_torch dump_rings PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fake)

set(VT_SANITIZED "")
if(VT_SANITIZE)
  set(VT_SANITIZED sanitized)
endif()
add_test(NAME arch.exports COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/arch/check_exports.sh $<TARGET_FILE:vt_agent>
  ${PROJECT_SOURCE_DIR}/capture/agent/agent.map ${VT_SANITIZED})

# What a plain program must preload to take a sanitized agent.
set(VT_AGENT_PRELOAD $<TARGET_FILE:vt_agent>)
if(VT_SANITIZE MATCHES address)
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so OUTPUT_VARIABLE asan_library
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(VT_AGENT_PRELOAD "${asan_library} $<TARGET_FILE:vt_agent>")
endif()

# Python itself is not built for thread sanitizer.
if(NOT VT_SANITIZE MATCHES thread)
  add_test(NAME e2e.python_stacks COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/e2e/python_stacks.sh ${VT_AGENT_PRELOAD}
    ${PROJECT_BINARY_DIR}/tests/fake)
  add_test(NAME e2e.torch_ops COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/e2e/torch_ops.sh ${VT_AGENT_PRELOAD}
    ${PROJECT_BINARY_DIR}/tests/fake)
  set_tests_properties(e2e.python_stacks e2e.torch_ops PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
endif()

# Every Python that is here; `ctest -L matrix`. VT_MATRIX_PYTHONS names more.
if(NOT VT_SANITIZE)
  add_test(NAME e2e.matrix COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/e2e/matrix.sh $<TARGET_FILE_DIR:vramtrace>
    $<TARGET_FILE:vt_agent> ${PROJECT_BINARY_DIR}/tests/fake others)
  set_tests_properties(e2e.matrix PROPERTIES LABELS matrix SKIP_RETURN_CODE 77 TIMEOUT 5000)
endif()

find_program(VT_PYTHON3 python3)
if(VT_PYTHON3)
  add_test(NAME e2e.agent_rings COMMAND ${VT_PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/e2e/agent_rings.py
    ${VT_AGENT_PRELOAD} ${PROJECT_BINARY_DIR}/tests/fake)
endif()

pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
add_executable(test_intern unit/test_intern.c)
target_link_libraries(test_intern PRIVATE vt_agent_core vt_ring vt_options PkgConfig::CMOCKA Threads::Threads)
add_test(NAME unit.intern COMMAND test_intern)

# It is the interpreter itself: the agent must find its functions.
add_executable(test_python_guard unit/test_python_guard.c)
target_link_libraries(test_python_guard PRIVATE vt_agent_core vt_ring vt_options PkgConfig::CMOCKA Threads::Threads)
set_target_properties(test_python_guard PROPERTIES ENABLE_EXPORTS ON)
add_test(NAME unit.python_guard COMMAND test_python_guard)

add_executable(test_torch_ops unit/test_torch_ops.c)
target_link_libraries(test_torch_ops PRIVATE vt_agent_core vt_ring vt_options fake_aten PkgConfig::CMOCKA Threads::Threads)
foreach(layout 0 1 2 3)
  add_test(NAME unit.torch_ops.layout${layout} COMMAND test_torch_ops ${layout})
endforeach()
