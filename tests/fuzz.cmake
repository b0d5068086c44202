# Everything that reads what others wrote, against inputs that nobody wrote. With VT_FUZZ the targets are libFuzzer's
# (`./run fuzz`); else they replay what is kept in fuzz/corpus and mutate what make_corpus takes from a trace.
set(corpus ${PROJECT_BINARY_DIR}/corpus)

add_executable(make_corpus fuzz/make_corpus.c)
target_link_libraries(make_corpus PRIVATE vt_schema PkgConfig::ZSTD)
add_custom_command(OUTPUT ${corpus}/made
  COMMAND make_schema_trace ${corpus}.vramtrace 1 small
  COMMAND make_corpus ${corpus}.vramtrace ${corpus}
  COMMAND ${CMAKE_COMMAND} -E touch ${corpus}/made
  DEPENDS make_schema_trace make_corpus)
add_custom_target(fuzz_corpus ALL DEPENDS ${corpus}/made)

# vt_fuzz_target(STEM MUTATIONS LIBRARIES...)
function(vt_fuzz_target stem mutations)
  add_executable(fuzz_${stem} fuzz/fuzz_${stem}.c)
  target_link_libraries(fuzz_${stem} PRIVATE ${ARGN})
  set_target_properties(fuzz_${stem} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fuzz)
  if(VT_FUZZ)
    target_link_options(fuzz_${stem} PRIVATE -fsanitize=fuzzer)
    return()
  endif()
  target_sources(fuzz_${stem} PRIVATE fuzz/replay_main.c)
  set(kept ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${stem})
  if(NOT EXISTS ${kept})
    set(kept)
  endif()
  add_test(NAME fuzz.${stem} COMMAND fuzz_${stem} --mutate ${mutations} ${corpus}/fuzz_${stem} ${kept})
endfunction()

vt_fuzz_target(column 20 vt_schema)
vt_fuzz_target(chunk 200 vt_schema PkgConfig::ZSTD)
vt_fuzz_target(store 300 vt_schema)
vt_fuzz_target(ring 3000 vt_ring)
