# The file format: its document, its lock, a reader in another language.
find_package(Python3 COMPONENTS Interpreter REQUIRED)
set(golden ${CMAKE_CURRENT_SOURCE_DIR}/golden)
file(GLOB traces CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/data/*.vramtrace)

add_executable(make_schema_trace unit/make_schema_trace.c)
target_link_libraries(make_schema_trace PRIVATE vt_schema)

add_test(NAME golden.schema COMMAND Python3::Interpreter ${golden}/check_schema.py $<TARGET_FILE:schema_print> ${PROJECT_SOURCE_DIR})
add_test(NAME golden.format_example COMMAND Python3::Interpreter ${golden}/read_trace.py --document ${PROJECT_SOURCE_DIR}/schema/format.md)
add_test(NAME golden.reader COMMAND Python3::Interpreter ${golden}/check_reader.py $<TARGET_FILE:vramtrace>
  ${golden}/read_trace.py $<TARGET_FILE:make_schema_trace> ${traces})

add_executable(bench_codec bench/bench_codec.c)
target_link_libraries(bench_codec PRIVATE vt_schema)
