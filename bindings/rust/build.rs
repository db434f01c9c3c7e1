//! Compiles Deltabloom for the RocksDB that the crate librocksdb-sys or rust-librocksdb-sys
//! links. Units are few and large: most of the time of a small one would go to its headers.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The top of Deltabloom's sources: packed into this crate, or the repository.
fn sources() -> PathBuf {
    let crate_folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap());
    let packed = crate_folder.join("source");
    if packed.exists() {
        return packed;
    }
    crate_folder
        .ancestors()
        .find(|folder| folder.join("util/version.h").exists())
        .expect("Deltabloom's sources are neither in this crate nor around it")
        .to_path_buf()
}

/// The headers of the RocksDB that is linked: those that the fork's build script says it used;
/// for librocksdb-sys, which says less, what its own rule gives.
fn rocksdb_headers() -> PathBuf {
    println!("cargo:rerun-if-env-changed=ROCKSDB_INCLUDE_DIR");
    let folder = env::var("DEP_ROCKSDB_INCLUDE")
        .or_else(|_| env::var("ROCKSDB_INCLUDE_DIR"))
        .map(PathBuf::from)
        .or_else(|_| {
            env::var("DEP_ROCKSDB_CARGO_MANIFEST_DIR")
                .map(|manifest| Path::new(&manifest).join("rocksdb/include"))
        })
        .expect("the crate of RocksDB does not say where its headers are: set ROCKSDB_INCLUDE_DIR");
    assert!(
        folder.join("rocksdb/version.h").exists(),
        "no rocksdb/version.h in {}: set ROCKSDB_INCLUDE_DIR to the headers of the RocksDB that is linked",
        folder.display()
    );
    folder
}

/// RocksDB's MAJOR or MINOR.
fn version_number(header: &str, name: &str) -> u32 {
    header
        .lines()
        .filter_map(|line| line.strip_prefix(&format!("#define ROCKSDB_{name} ")))
        .find_map(|number| number.trim().parse().ok())
        .expect("rocksdb/version.h has no version")
}

fn sources_below(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "cc") {
            found.push(path);
        }
    }
}

/// Writes a source that includes these.
fn unit_of(top: &Path, files: &[PathBuf], name: &str) -> PathBuf {
    let unit = PathBuf::from(env::var("OUT_DIR").unwrap()).join(name);
    let includes: String = files
        .iter()
        .map(|file| file.strip_prefix(top).unwrap())
        .map(|file| format!("#include \"{}\"\n", file.display()))
        .collect();
    fs::write(&unit, includes).unwrap();
    unit
}

fn main() {
    let top = sources();
    let headers = rocksdb_headers();
    let version = fs::read_to_string(headers.join("rocksdb/version.h")).unwrap();
    let (major, minor) = (
        version_number(&version, "MAJOR"),
        version_number(&version, "MINOR"),
    );

    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std(if (major, minor) >= (10, 7) {
            "c++20"
        } else {
            "c++17"
        })
        .include(&top)
        .include(top.join("include"))
        .include(&headers)
        // Links with a RocksDB that is built with run-time type information or without.
        .flag("-fno-rtti")
        .flag("-fvisibility=hidden")
        .warnings(false);
    if env::var("OPT_LEVEL").unwrap() == "0" {
        build.opt_level(1);
    }

    // Files of the layouts, each for one CPU, use the same names; the rest is two units.
    let mut core = Vec::new();
    for folder in ["util", "table"] {
        println!("cargo:rerun-if-changed={}", top.join(folder).display());
        sources_below(&top.join(folder), &mut core);
    }
    let (layouts, core) = core
        .into_iter()
        .partition(|file| file.starts_with(top.join("util/layouts")));
    build.files::<Vec<PathBuf>>(layouts);
    build.file(unit_of(&top, &core, "core.cc"));

    let rocksdb = top.join("engines/rocksdb");
    println!("cargo:rerun-if-changed={}", rocksdb.display());
    let mut engine = vec![rocksdb.join("c/ranges_c.cc")];
    for folder in ["api", "base", "policy", "ranges", "statistics", "plugin"] {
        sources_below(&rocksdb.join(folder), &mut engine);
    }
    build.file(unit_of(&top, &engine, "engine.cc"));
    println!("cargo:rerun-if-changed={}", top.join("include").display());
    build.compile("deltabloom_rocksdb");
}
