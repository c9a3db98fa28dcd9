# hopgap::httplib: Debian's cpp-httplib, a library compiled with these three switches on; a user without them would see
# classes of another shape. They stand everywhere, so that all can share compiled headers.
add_compile_definitions(CPPHTTPLIB_OPENSSL_SUPPORT CPPHTTPLIB_ZLIB_SUPPORT CPPHTTPLIB_BROTLI_SUPPORT)
find_library(HOPGAP_LIB_HTTPLIB cpp-httplib REQUIRED)
find_library(HOPGAP_LIB_SSL ssl REQUIRED)
find_library(HOPGAP_LIB_CRYPTO crypto REQUIRED)
add_library(hopgap_httplib INTERFACE)
target_link_libraries(hopgap_httplib INTERFACE ${HOPGAP_LIB_HTTPLIB} ${HOPGAP_LIB_SSL} ${HOPGAP_LIB_CRYPTO})
add_library(hopgap::httplib ALIAS hopgap_httplib)
