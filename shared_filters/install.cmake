# Included by cmake/install.cmake: the libraries deltabloom::shared and
# deltabloom::redis, where they are built.
set(headers shared_filters/include/deltabloom)
deltabloom_install(deltabloom_shared shared
  PACKAGE runtime
  DESCRIPTION "Filters shared with other languages and between threads"
  LIBS_PRIVATE "-lstdc++ -lm"
  HEADERS ${headers}/concurrent_filter.h ${headers}/go_murmur3_filter.h
    ${headers}/guava_filter.h)

list(TRANSFORM deltabloom_redis_libraries PREPEND "-l" OUTPUT_VARIABLE redis_libs)
list(JOIN redis_libs " " redis_libs)
deltabloom_install(deltabloom_redis redis
  PACKAGE redis
  DESCRIPTION "Bloom filters in Redis, shared with other languages"
  LIBS_PRIVATE "${redis_libs} -lstdc++ -lm"
  HEADERS ${headers}/redis_filter.h)
