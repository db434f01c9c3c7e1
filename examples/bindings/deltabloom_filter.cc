// The native half of DeltabloomFilter.java. Loading it also registers
// Deltabloom, so that OPTIONS files that name it can be read.
//
//   c++ -std=c++17 -shared -fPIC deltabloom_filter.cc -o
//   libdeltabloom_filter.so
//     -I$JAVA_HOME/include -I$JAVA_HOME/include/linux
//     $(pkg-config --cflags --libs deltabloom-rocksdb)
#include <jni.h>

#include <memory>

#include "deltabloom/rocksdb.h"
#include "rocksdb/convenience.h"
#include "rocksdb/filter_policy.h"

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM*, void*) {
  return deltabloom::RegisterRocksDB() ? JNI_VERSION_1_8 : JNI_ERR;
}

// RocksJava keeps a pointer to a shared pointer, and deletes it.
extern "C" JNIEXPORT jlong JNICALL
Java_DeltabloomFilter_newPolicy(JNIEnv* env, jclass, jstring options) {
  const char* const text = env->GetStringUTFChars(options, nullptr);
  if (text == nullptr) return 0;
  auto policy =
      std::make_unique<std::shared_ptr<const rocksdb::FilterPolicy>>();
  const rocksdb::Status status = rocksdb::FilterPolicy::CreateFromString(
      rocksdb::ConfigOptions(), text, policy.get());
  env->ReleaseStringUTFChars(options, text);
  if (!status.ok() || *policy == nullptr) {
    env->ThrowNew(env->FindClass("java/lang/IllegalArgumentException"),
                  status.ToString().c_str());
    return 0;
  }
  return reinterpret_cast<jlong>(policy.release());
}
