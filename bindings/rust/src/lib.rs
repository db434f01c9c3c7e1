//! Deltabloom's filters in the RocksDB that the crate `rocksdb`, or its fork `rust-rocksdb`,
//! compiles into the program: fewer false positives in the same bytes.
//!
//! ```no_run
//! let mut table = rocksdb::BlockBasedOptions::default();
//! table.set_block_size(16 << 10);
//! let mut options = rocksdb::Options::default();
//! options.create_if_missing(true);
//! options.set_block_based_table_factory(&table);
//! deltabloom_rocksdb::set_filters(&mut options, "deltabloom:10")?;
//! let db = rocksdb::DB::open(&options, "example.db")?;
//! println!("{}", deltabloom_rocksdb::filters_of(&db)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! RocksDB and its crate take a policy that they do not know for "no filter" without an
//! error: [`filters_of_options`] and [`filters_of`] say so.

use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::fmt;
use std::ptr;

use rocksdb::{AsColumnFamilyRef, AsRawPtr, Options, DB};

mod ranges;

pub use ranges::{Ranges, Scan};

/// One line: what is wrong and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// A format of [`statistics`] and [`Ranges::statistics`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One JSON object, in one line.
    Json,
    /// The text exposition format of Prometheus.
    Prometheus,
    /// A table for people.
    Text,
}

impl Format {
    fn name(self) -> &'static CStr {
        match self {
            Format::Json => c"json",
            Format::Prometheus => c"prometheus",
            Format::Text => c"text",
        }
    }
}

/// `struct deltabloom_module` of engines/rocksdb/plugin/module.h.
#[repr(C)]
struct Module {
    interface: c_int,
    built_for: *const c_char,
    register_with_rocksdb: unsafe extern "C" fn(*mut *mut c_char) -> c_int,
    serve_environment: unsafe extern "C" fn(),
    new_policy: unsafe extern "C" fn(*const c_char, *mut *mut c_char) -> *mut c_void,
    set_filters: unsafe extern "C" fn(*mut c_void, *const c_char, *mut *mut c_char) -> c_int,
    filters_of_options: unsafe extern "C" fn(*const c_void, *mut *mut c_char) -> *mut c_char,
    filters_of_database:
        unsafe extern "C" fn(*mut c_void, *mut c_void, *mut *mut c_char) -> *mut c_char,
    check: unsafe extern "C" fn(*const c_char, *mut *mut c_char) -> *mut c_char,
    statistics: unsafe extern "C" fn(*const c_char, *mut *mut c_char) -> *mut c_char,
}

// Its pointers are those of functions and of a constant.
unsafe impl Sync for Module {}

extern "C" {
    static deltabloom_rocksdb_module: Module;
}

fn module() -> &'static Module {
    // A constant of the C++ part of this crate.
    unsafe { &deltabloom_rocksdb_module }
}

fn c_text(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error(format!("deltabloom: a zero byte in {text:?}")))
}

/// The text of C, freed.
unsafe fn take(text: *mut c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    let owned = CStr::from_ptr(text).to_string_lossy().into_owned();
    libc::free(text.cast());
    Some(owned)
}

/// Calls a function that may set an error.
fn call<T>(function: impl FnOnce(*mut *mut c_char) -> T) -> Result<T, Error> {
    let mut error = ptr::null_mut();
    let result = function(&mut error);
    match unsafe { take(error) } {
        Some(line) => Err(Error(line)),
        None => Ok(result),
    }
}

fn text(function: impl FnOnce(*mut *mut c_char) -> *mut c_char) -> Result<String, Error> {
    let text = call(function)?;
    unsafe { take(text) }.ok_or_else(|| Error("deltabloom: out of memory".to_owned()))
}

/// Makes the policy known to RocksDB by name, for `Options::load_latest` and texts of
/// options: call it before them. Further calls do nothing. Fails if the linked RocksDB is
/// not the one whose headers this crate was compiled with.
pub fn register() -> Result<(), Error> {
    call(|error| unsafe { (module().register_with_rocksdb)(error) })?;
    Ok(())
}

/// Sets the filter policy that a text names: `"deltabloom:10"` (bits per key), or
/// `"id=deltabloom;bits_per_key=10;layout=compact"`. The other options of tables stay as they
/// are. Call it after `set_block_based_table_factory`, which replaces the policy:
/// [`filters_of_options`] then says so.
pub fn set_filters(options: &mut Options, text: &str) -> Result<(), Error> {
    let text = c_text(text)?;
    call(|error| unsafe {
        // rocksdb_options_t begins with RocksDB's Options.
        (module().set_filters)(options.as_raw_ptr().cast(), text.as_ptr(), error)
    })?;
    Ok(())
}

/// Returns the text of the policy that the options have; an error if they have none, or one
/// that is not Deltabloom's.
pub fn filters_of_options(options: &Options) -> Result<String, Error> {
    text(|error| unsafe { (module().filters_of_options)(options.as_raw_ptr().cast(), error) })
}

/// Does the same for the default column family of an open database.
pub fn filters_of(db: &DB) -> Result<String, Error> {
    filters_of_family(db, ptr::null_mut())
}

/// Does the same for another column family of it.
pub fn filters_of_cf(db: &DB, family: &impl AsColumnFamilyRef) -> Result<String, Error> {
    // rocksdb_column_family_handle_t begins with a pointer to RocksDB's.
    let handle: *mut *mut c_void = family.inner().cast();
    filters_of_family(db, unsafe { *handle })
}

fn filters_of_family(db: &DB, family: *mut c_void) -> Result<String, Error> {
    text(|error| unsafe {
        // rocksdb_t begins with a pointer to RocksDB's DB.
        let database: *mut *mut c_void = db.as_raw_ptr().cast();
        (module().filters_of_database)(*database, family, error)
    })
}

/// Returns what the text of a filter policy, or of a collector of range filters
/// (`"deltabloom.range"`), means, with all options; an error if it is wrong.
pub fn check(text_of_option: &str) -> Result<String, Error> {
    let option = c_text(text_of_option)?;
    text(|error| unsafe { (module().check)(option.as_ptr(), error) })
}

/// Returns the statistics of all filters in this process.
pub fn statistics(format: Format) -> Result<String, Error> {
    text(|error| unsafe { (module().statistics)(format.name().as_ptr(), error) })
}
