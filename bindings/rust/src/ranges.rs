//! Range filters: scans that skip the tables that cannot hold any of their keys.

use std::ffi::{c_char, c_uchar};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

use librocksdb_sys::{
    rocksdb_column_family_handle_t, rocksdb_options_t, rocksdb_readoptions_create,
    rocksdb_readoptions_destroy, rocksdb_readoptions_set_total_order_seek, rocksdb_readoptions_t,
    rocksdb_t,
};
use rocksdb::{AsColumnFamilyRef, AsRawPtr, Options, DB};

use crate::{c_text, call, text, Error, Format};

#[repr(C)]
struct CRanges {
    _opaque: [u8; 0],
}

#[repr(C)]
struct CScan {
    _opaque: [u8; 0],
}

// Of include/deltabloom/c.h.
extern "C" {
    fn deltabloom_rocksdb_ranges_create(
        options: *const c_char,
        error: *mut *mut c_char,
    ) -> *mut CRanges;
    fn deltabloom_rocksdb_ranges_destroy(ranges: *mut CRanges);
    fn deltabloom_rocksdb_ranges_add_to(
        ranges: *mut CRanges,
        options: *mut rocksdb_options_t,
        error: *mut *mut c_char,
    ) -> c_uchar;
    fn deltabloom_rocksdb_ranges_create_iterator(
        ranges: *mut CRanges,
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        family: *mut rocksdb_column_family_handle_t,
        lower: *const c_char,
        lower_length: usize,
        upper: *const c_char,
        upper_length: usize,
        error: *mut *mut c_char,
    ) -> *mut CScan;
    fn deltabloom_rocksdb_ranges_create_prefix_iterator(
        ranges: *mut CRanges,
        db: *mut rocksdb_t,
        options: *const rocksdb_readoptions_t,
        family: *mut rocksdb_column_family_handle_t,
        prefix: *const c_char,
        prefix_length: usize,
        error: *mut *mut c_char,
    ) -> *mut CScan;
    fn deltabloom_rocksdb_ranges_statistics(
        ranges: *const CRanges,
        format: *const c_char,
        error: *mut *mut c_char,
    ) -> *mut c_char;
    fn deltabloom_rocksdb_iterator_destroy(scan: *mut CScan);
    fn deltabloom_rocksdb_iterator_valid(scan: *const CScan) -> c_uchar;
    fn deltabloom_rocksdb_iterator_seek_to_first(scan: *mut CScan);
    fn deltabloom_rocksdb_iterator_seek_to_last(scan: *mut CScan);
    fn deltabloom_rocksdb_iterator_seek(scan: *mut CScan, key: *const c_char, length: usize);
    fn deltabloom_rocksdb_iterator_seek_for_prev(
        scan: *mut CScan,
        key: *const c_char,
        length: usize,
    );
    fn deltabloom_rocksdb_iterator_next(scan: *mut CScan);
    fn deltabloom_rocksdb_iterator_prev(scan: *mut CScan);
    fn deltabloom_rocksdb_iterator_key(scan: *const CScan, length: *mut usize) -> *const c_char;
    fn deltabloom_rocksdb_iterator_value(scan: *const CScan, length: *mut usize) -> *const c_char;
    fn deltabloom_rocksdb_iterator_get_error(scan: *const CScan, error: *mut *mut c_char);
}

struct Handle {
    ranges: NonNull<CRanges>,
    // Owns the comparator, to which the C++ object and its scans point.
    _options: Options,
}

// RocksDBRanges may be used by any number of threads.
unsafe impl Send for Handle {}
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        unsafe { deltabloom_rocksdb_ranges_destroy(self.ranges.as_ptr()) }
    }
}

/// The range filters of one column family: they make the filters of its tables, and its scans.
/// Clones are the same object.
#[derive(Clone)]
pub struct Ranges(Arc<Handle>);

impl Ranges {
    /// Adds range filters to the options of a column family, before it is opened and after
    /// `set_comparator`. The text is that of RocksDBRangeOptions, such as
    /// `"prefixes=':';bits_per_key=8"`; `""` for the defaults.
    pub fn add_to(options: &mut Options, text: &str) -> Result<Ranges, Error> {
        let text = c_text(text)?;
        let ranges =
            call(|error| unsafe { deltabloom_rocksdb_ranges_create(text.as_ptr(), error) })?;
        let handle = Handle {
            ranges: NonNull::new(ranges)
                .ok_or_else(|| Error("deltabloom: out of memory".to_owned()))?,
            _options: options.clone(),
        };
        call(|error| unsafe {
            deltabloom_rocksdb_ranges_add_to(ranges, options.as_raw_ptr(), error)
        })?;
        Ok(Ranges(Arc::new(handle)))
    }

    /// Returns a scan of the default column family over the keys `k` with
    /// `lower <= k < upper`; without `upper` over all from `lower` on. Position it before use.
    pub fn scan<'a>(
        &self,
        db: &'a DB,
        lower: impl AsRef<[u8]>,
        upper: Option<&[u8]>,
    ) -> Result<Scan<'a>, Error> {
        self.scan_family(db, ptr::null_mut(), lower.as_ref(), upper)
    }

    /// Returns a scan of another column family: the one whose options have these filters.
    pub fn scan_cf<'a>(
        &self,
        db: &'a DB,
        family: &impl AsColumnFamilyRef,
        lower: impl AsRef<[u8]>,
        upper: Option<&[u8]>,
    ) -> Result<Scan<'a>, Error> {
        self.scan_family(db, family.inner(), lower.as_ref(), upper)
    }

    /// Returns a scan of the default column family over the keys that begin with `prefix`.
    pub fn scan_prefix<'a>(&self, db: &'a DB, prefix: impl AsRef<[u8]>) -> Result<Scan<'a>, Error> {
        self.scan_family_prefix(db, ptr::null_mut(), prefix.as_ref())
    }

    /// Returns such a scan of another column family.
    pub fn scan_prefix_cf<'a>(
        &self,
        db: &'a DB,
        family: &impl AsColumnFamilyRef,
        prefix: impl AsRef<[u8]>,
    ) -> Result<Scan<'a>, Error> {
        self.scan_family_prefix(db, family.inner(), prefix.as_ref())
    }

    /// Returns what the scans did, and the tables and bytes of the filters that were built.
    pub fn statistics(&self, format: Format) -> Result<String, Error> {
        text(|error| unsafe {
            deltabloom_rocksdb_ranges_statistics(
                self.0.ranges.as_ptr(),
                format.name().as_ptr(),
                error,
            )
        })
    }

    fn scan_family<'a>(
        &self,
        db: &'a DB,
        family: *mut rocksdb_column_family_handle_t,
        lower: &[u8],
        upper: Option<&[u8]>,
    ) -> Result<Scan<'a>, Error> {
        self.new_scan(|options, error| unsafe {
            deltabloom_rocksdb_ranges_create_iterator(
                self.0.ranges.as_ptr(),
                db.as_raw_ptr(),
                options,
                family,
                lower.as_ptr().cast(),
                lower.len(),
                upper.map_or(ptr::null(), |upper| upper.as_ptr().cast()),
                upper.map_or(0, <[u8]>::len),
                error,
            )
        })
    }

    fn scan_family_prefix<'a>(
        &self,
        db: &'a DB,
        family: *mut rocksdb_column_family_handle_t,
        prefix: &[u8],
    ) -> Result<Scan<'a>, Error> {
        self.new_scan(|options, error| unsafe {
            deltabloom_rocksdb_ranges_create_prefix_iterator(
                self.0.ranges.as_ptr(),
                db.as_raw_ptr(),
                options,
                family,
                prefix.as_ptr().cast(),
                prefix.len(),
                error,
            )
        })
    }

    fn new_scan<'a>(
        &self,
        create: impl FnOnce(*const rocksdb_readoptions_t, *mut *mut c_char) -> *mut CScan,
    ) -> Result<Scan<'a>, Error> {
        let options = unsafe {
            let options = rocksdb_readoptions_create();
            rocksdb_readoptions_set_total_order_seek(options, 1);
            options
        };
        let scan = call(|error| create(options, error));
        // The scan has copied them.
        unsafe { rocksdb_readoptions_destroy(options) };
        Ok(Scan {
            scan: NonNull::new(scan?)
                .ok_or_else(|| Error("deltabloom: out of memory".to_owned()))?,
            _ranges: Arc::clone(&self.0),
            _db: PhantomData,
        })
    }
}

/// A scan, with the functions of the crate's `DBRawIterator`. It finds what an iterator of the
/// crate with these bounds and `set_total_order_seek(true)` finds.
pub struct Scan<'a> {
    scan: NonNull<CScan>,
    _ranges: Arc<Handle>,
    _db: PhantomData<&'a DB>,
}

// No thread is bound to an iterator of RocksDB.
unsafe impl Send for Scan<'_> {}

impl Drop for Scan<'_> {
    fn drop(&mut self) {
        unsafe { deltabloom_rocksdb_iterator_destroy(self.scan.as_ptr()) }
    }
}

impl Scan<'_> {
    /// Returns whether the scan is at a key. If not, ask [`Scan::status`] why.
    pub fn valid(&self) -> bool {
        unsafe { deltabloom_rocksdb_iterator_valid(self.scan.as_ptr()) != 0 }
    }

    /// Returns the error because of which the scan ended, if any.
    pub fn status(&self) -> Result<(), Error> {
        call(|error| unsafe { deltabloom_rocksdb_iterator_get_error(self.scan.as_ptr(), error) })
    }

    pub fn seek_to_first(&mut self) {
        unsafe { deltabloom_rocksdb_iterator_seek_to_first(self.scan.as_ptr()) }
    }

    pub fn seek_to_last(&mut self) {
        unsafe { deltabloom_rocksdb_iterator_seek_to_last(self.scan.as_ptr()) }
    }

    /// Goes to the first key that is not before this one.
    pub fn seek(&mut self, key: impl AsRef<[u8]>) {
        let key = key.as_ref();
        unsafe {
            deltabloom_rocksdb_iterator_seek(self.scan.as_ptr(), key.as_ptr().cast(), key.len());
        }
    }

    /// Goes to the last key that is not after this one.
    pub fn seek_for_prev(&mut self, key: impl AsRef<[u8]>) {
        let key = key.as_ref();
        unsafe {
            deltabloom_rocksdb_iterator_seek_for_prev(
                self.scan.as_ptr(),
                key.as_ptr().cast(),
                key.len(),
            );
        }
    }

    /// Goes to the next key, unless the scan is at none.
    pub fn next(&mut self) {
        if self.valid() {
            unsafe { deltabloom_rocksdb_iterator_next(self.scan.as_ptr()) }
        }
    }

    /// Goes to the key before, unless the scan is at none.
    pub fn prev(&mut self) {
        if self.valid() {
            unsafe { deltabloom_rocksdb_iterator_prev(self.scan.as_ptr()) }
        }
    }

    /// Returns the key, until the scan moves.
    pub fn key(&self) -> Option<&[u8]> {
        self.part(deltabloom_rocksdb_iterator_key)
    }

    /// Returns the value, until the scan moves.
    pub fn value(&self) -> Option<&[u8]> {
        self.part(deltabloom_rocksdb_iterator_value)
    }

    /// Returns both.
    pub fn item(&self) -> Option<(&[u8], &[u8])> {
        Some((self.key()?, self.value()?))
    }

    fn part(
        &self,
        part: unsafe extern "C" fn(*const CScan, *mut usize) -> *const c_char,
    ) -> Option<&[u8]> {
        if !self.valid() {
            return None;
        }
        let mut length = 0;
        unsafe {
            let bytes = part(self.scan.as_ptr(), &mut length);
            Some(if length == 0 {
                &[]
            } else {
                slice::from_raw_parts(bytes.cast(), length)
            })
        }
    }
}
