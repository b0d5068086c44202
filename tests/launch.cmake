# Tests of the launch scan.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
add_executable(test_launch unit/test_launch.c)
target_link_libraries(test_launch PRIVATE vt_agent_core vt_options PkgConfig::CMOCKA)
add_test(NAME unit.launch COMMAND test_launch)
