# Deltabloom inside RocksDB's own build with make: see docs/compatibility.md.
# The folder source/ beside this file is the source tree of Deltabloom.
#
# ":=" hides this list from RocksDB's CMake build, which reads the line with
# "= " from this file, too, and finds the sources in CMakeLists.txt.
#
# DELTABLOOM_C=0 leaves out the functions of deltabloom/c.h that concern RocksDB,
# which need db/c.cc of RocksDB.
DELTABLOOM_C ?= 1
deltabloom_FOLDERS := util util/* util/*/* table engines/rocksdb/[!cp]* engines/rocksdb/policy \
  $(if $(filter-out 0,$(DELTABLOOM_C)),engines/rocksdb/c)
deltabloom_FILES := $(foreach folders,$(deltabloom_FOLDERS),\
  $(wildcard plugin/deltabloom/source/$(folders)/*.cc))
deltabloom_SOURCES := $(deltabloom_FILES:plugin/deltabloom/%=%)
deltabloom_FUNC = deltabloom_register

# Both trees have folders util and table: only Deltabloom's files may look into
# Deltabloom's first.
deltabloom_FLAGS := -DDELTABLOOM_IN_ROCKSDB -iquote plugin/deltabloom/source \
  -iquote plugin/deltabloom/source/include
deltabloom_TARGETS := $(deltabloom_FILES:.cc=.o) $(deltabloom_FILES:=.d)
$(deltabloom_TARGETS): CXXFLAGS += $(deltabloom_FLAGS)
$(addprefix %/,$(deltabloom_TARGETS)): CXXFLAGS += $(deltabloom_FLAGS)
