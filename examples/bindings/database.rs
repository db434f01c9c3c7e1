//! A RocksDB database with Deltabloom's filters, from Rust, by
//! RocksDB's C interface and without crates.
//!
//!     rustc -o database database.rs && ./database FOLDER
use std::ffi::{c_char, c_void, CStr, CString};
use std::ptr::null_mut;

type P = *mut c_void;
type Error = *mut c_char;

#[link(name = "deltabloom_rocksdb")]
extern "C" {
    fn deltabloom_rocksdb_add_filters(options: P, filters: *const c_char, error: &mut Error) -> u8;
    fn deltabloom_rocksdb_statistics(format: *const c_char, error: &mut Error) -> *mut c_char;
}

#[link(name = "rocksdb")]
extern "C" {
    fn rocksdb_options_create() -> P;
    fn rocksdb_options_set_create_if_missing(options: P, value: u8);
    fn rocksdb_open(options: P, folder: *const c_char, error: &mut Error) -> P;
    fn rocksdb_writeoptions_create() -> P;
    fn rocksdb_put(
        db: P, options: P, key: *const u8, size: usize, value: *const u8, value_size: usize,
        error: &mut Error,
    );
    fn rocksdb_flushoptions_create() -> P;
    fn rocksdb_flush(db: P, options: P, error: &mut Error);
    fn rocksdb_readoptions_create() -> P;
    fn rocksdb_get(
        db: P, options: P, key: *const u8, size: usize, value_size: &mut usize, error: &mut Error,
    ) -> P;
    fn rocksdb_free(memory: P);
    fn rocksdb_close(db: P);
}

fn text(bytes: &str) -> CString {
    CString::new(bytes).unwrap()
}

fn check(error: Error) {
    if !error.is_null() {
        panic!("{}", unsafe { CStr::from_ptr(error) }.to_string_lossy());
    }
}

fn main() {
    let folder = text(&std::env::args().nth(1).expect("usage: database FOLDER"));
    let filters = text("bits_per_key=12");
    let mut error = null_mut();
    unsafe {
        let options = rocksdb_options_create();
        rocksdb_options_set_create_if_missing(options, 1);
        deltabloom_rocksdb_add_filters(options, filters.as_ptr(), &mut error);
        check(error);
        let db = rocksdb_open(options, folder.as_ptr(), &mut error);
        check(error);

        let write = rocksdb_writeoptions_create();
        for i in (0..2000).step_by(2) {
            let key = format!("{:06}", i);
            rocksdb_put(db, write, key.as_ptr(), 6, key.as_ptr(), 6, &mut error);
            check(error);
        }
        rocksdb_flush(db, rocksdb_flushoptions_create(), &mut error);
        check(error);

        let read = rocksdb_readoptions_create();
        for i in 0..1999 {
            let key = format!("{:06}", i);
            let mut size = 0;
            let value = rocksdb_get(db, read, key.as_ptr(), 6, &mut size, &mut error);
            check(error);
            assert_eq!(!value.is_null(), i % 2 == 0, "key {}", i);
            rocksdb_free(value);
        }
        rocksdb_close(db);
        let statistics = deltabloom_rocksdb_statistics(text("text").as_ptr(), &mut error);
        check(error);
        println!("{}", CStr::from_ptr(statistics).to_string_lossy());
    }
}
