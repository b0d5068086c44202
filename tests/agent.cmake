# Tests of the agent: a fake libc10, programs that use it, and looks into the rings.
add_library(fake_c10 SHARED fake/fake_c10.c)
target_link_libraries(fake_c10 PRIVATE vt_options Threads::Threads)
set_target_properties(fake_c10 PROPERTIES OUTPUT_NAME c10 LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fake)

add_executable(fake_torch fake/fake_torch.c)
target_link_libraries(fake_torch PRIVATE vt_options fake_c10 Threads::Threads)
add_executable(dump_rings fake/dump_rings.c)
target_link_libraries(dump_rings PRIVATE vt_ring vt_schema)
set_target_properties(fake_torch dump_rings PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fake)

add_test(NAME arch.exports COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/arch/check_exports.sh $<TARGET_FILE:vt_agent>
  ${PROJECT_SOURCE_DIR}/capture/agent/agent.map $<$<BOOL:${VT_SANITIZE}>:sanitized>)
