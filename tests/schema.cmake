# Tests of schema/: codecs, chunks, rings, the store and its document.
if(NOT TARGET PkgConfig::CMOCKA)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()

add_library(vt_schema_tests STATIC unit/schema_random.c unit/store_rig.c)
target_include_directories(vt_schema_tests PUBLIC unit)
target_link_libraries(vt_schema_tests PUBLIC vt_schema vt_ring PkgConfig::CMOCKA Threads::Threads PRIVATE vt_options)

foreach(stem chunk column event ring store store_kill store_open)
  add_executable(test_${stem} unit/test_${stem}.c)
  target_link_libraries(test_${stem} PRIVATE vt_schema_tests PkgConfig::ZSTD SQLite::SQLite3)
  add_test(NAME unit.${stem} COMMAND test_${stem})
endforeach()
