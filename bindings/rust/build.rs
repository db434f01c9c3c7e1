//! Compiles Deltabloom for the RocksDB that librocksdb-sys builds. The sources that include
//! RocksDB are one unit: most of the time of a small one would go to its headers.

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

/// The headers that librocksdb-sys was built with.
fn rocksdb_headers() -> PathBuf {
    println!("cargo:rerun-if-env-changed=ROCKSDB_INCLUDE_DIR");
    let folder = env::var("ROCKSDB_INCLUDE_DIR")
        .map(PathBuf::from)
        .or_else(|_| {
            env::var("DEP_ROCKSDB_CARGO_MANIFEST_DIR")
                .map(|manifest| Path::new(&manifest).join("rocksdb/include"))
        })
        .expect("librocksdb-sys does not say where RocksDB's headers are: set ROCKSDB_INCLUDE_DIR");
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

fn main() {
    let top = sources();
    let headers = rocksdb_headers();
    let version = fs::read_to_string(headers.join("rocksdb/version.h")).unwrap();
    let (major, minor) = (
        version_number(&version, "MAJOR"),
        version_number(&version, "MINOR"),
    );
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());

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

    // The core does not include RocksDB; its files are small.
    let mut core = Vec::new();
    for folder in ["util", "table"] {
        println!("cargo:rerun-if-changed={}", top.join(folder).display());
        sources_below(&top.join(folder), &mut core);
    }
    build.files(core);
    let mut unit = String::new();
    for folder in ["api", "base", "policy", "ranges", "statistics", "plugin"] {
        let folder = top.join("engines/rocksdb").join(folder);
        println!("cargo:rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        sources_below(&folder, &mut files);
        for file in files {
            let relative = file.strip_prefix(&top).unwrap().to_str().unwrap();
            unit += &format!("#include \"{relative}\"\n");
        }
    }
    let engine = out.join("engine.cc");
    fs::write(&engine, unit).unwrap();
    build.file(engine);
    println!("cargo:rerun-if-changed={}", top.join("include").display());
    build.compile("deltabloom_rocksdb");
}
