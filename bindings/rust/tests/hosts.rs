//! The real crate with Deltabloom's filters.

use rocksdb::statistics::Ticker;
use rocksdb::{BlockBasedOptions, Cache, ColumnFamilyDescriptor, Env, Options, DB};

const KEYS: u32 = 300_000;

fn key(i: u32) -> String {
    format!("user{i:09}")
}

/// Options whose table factory has more than a filter.
fn options_with(filters: &str) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_size(8 << 10);
    table.set_bloom_filter(10.0, false);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.enable_statistics();
    options.set_block_based_table_factory(&table);
    if !filters.is_empty() {
        deltabloom_rocksdb::set_filters(&mut options, filters).unwrap();
    }
    options
}

fn fill(db: &DB) {
    for i in 0..KEYS {
        db.put(key(2 * i), key(i)).unwrap();
    }
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
}

/// Every key is found; returns the false positives of as many absent ones.
fn look_up(db: &DB, options: &Options) -> u64 {
    for i in 0..KEYS {
        assert_eq!(db.get(key(2 * i)).unwrap(), Some(key(i).into_bytes()));
    }
    let useful = options.get_ticker_count(Ticker::BloomFilterUseful);
    for i in 0..KEYS {
        assert_eq!(db.get(key(2 * i + 1)).unwrap(), None);
    }
    // The last key is beyond all tables.
    u64::from(KEYS) - 1 - (options.get_ticker_count(Ticker::BloomFilterUseful) - useful)
}

// The rate is .0011 at 10 bits per key, and less for tables of upper levels; of RocksDB's Bloom
// filter .0095.
fn assert_few(positives: u64) {
    println!("false positives of {KEYS} absent keys: {positives}");
    assert!(
        positives < u64::from(KEYS) * 15 / 10_000,
        "{positives} false positives"
    );
}

#[test]
fn filters_save_reads_and_lose_no_key() {
    let folder = tempfile::tempdir().unwrap();
    let options = options_with("deltabloom:10");
    {
        let db = DB::open(&options, folder.path()).unwrap();
        fill(&db);
        assert!(deltabloom_rocksdb::filters_of(&db)
            .unwrap()
            .contains("bits_per_key=10"));
        assert_few(look_up(&db, &options));
    }
    let json = deltabloom_rocksdb::statistics(deltabloom_rocksdb::Format::Json).unwrap();
    assert!(json.contains("\"layout\":\"compact\""), "{json}");

    // Reopened from its OPTIONS file.
    deltabloom_rocksdb::register().unwrap();
    let cache = Cache::new_lru_cache(8 << 20);
    let (mut loaded, families) =
        Options::load_latest(folder.path(), Env::new().unwrap(), false, cache).unwrap();
    loaded.enable_statistics();
    let names: Vec<String> = families
        .iter()
        .map(|family| family.name().to_owned())
        .collect();
    assert_eq!(names, ["default"]);
    let db = DB::open_cf_descriptors(&loaded, folder.path(), families).unwrap();
    assert!(deltabloom_rocksdb::filters_of(&db)
        .unwrap()
        .contains("id=deltabloom"));
    assert_few(look_up(&db, &loaded));
}

#[test]
fn rocksdbs_filters_stay_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let bloom = options_with("");
    fill(&DB::open(&bloom, folder.path()).unwrap());
    let before = look_up(&DB::open(&bloom, folder.path()).unwrap(), &bloom);
    let ours = options_with("deltabloom:10");
    assert_eq!(
        look_up(&DB::open(&ours, folder.path()).unwrap(), &ours),
        before
    );
}

#[test]
fn families_have_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let families = [
        ("default", "deltabloom:10"),
        ("small", "deltabloom:6:local"),
    ]
    .map(|(name, filters)| ColumnFamilyDescriptor::new(name, options_with(filters)));
    let db = DB::open_cf_descriptors(&options_with(""), folder.path(), families).unwrap();
    let small = db.cf_handle("small").unwrap();
    for i in 0..1000 {
        db.put_cf(&small, key(i), "value").unwrap();
    }
    db.flush_cf(&small).unwrap();
    assert_eq!(
        db.get_cf(&small, key(7)).unwrap().as_deref(),
        Some(&b"value"[..])
    );
    assert!(deltabloom_rocksdb::filters_of(&db)
        .unwrap()
        .contains("layout=compact"));
}

#[test]
fn silent_losses_are_said() {
    let mut options = options_with("deltabloom:10");
    assert!(deltabloom_rocksdb::filters_of_options(&options).is_ok());
    options.set_block_based_table_factory(&BlockBasedOptions::default());
    let error = deltabloom_rocksdb::filters_of_options(&options)
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("deltabloom: there is no filter policy"),
        "{error}"
    );
    let error = deltabloom_rocksdb::filters_of_options(&options_with(""))
        .unwrap_err()
        .to_string();
    assert!(error.contains("is not Deltabloom's, but"), "{error}");
}

#[test]
fn wrong_texts_are_errors() {
    for (text, expected) in [
        (
            "deltabloom:nan",
            "bits_per_key 'nan' is not valid: use 0 to 1000",
        ),
        ("deltabloom:10:cuckoo", "layout 'cuckoo' is not valid"),
        (
            "bloomfilter:10",
            "'bloomfilter:10' is no filter policy of Deltabloom",
        ),
        (
            "",
            "'' is no filter policy of Deltabloom: RocksDB takes it for none",
        ),
        ("a\0b", "a zero byte"),
    ] {
        let checked = deltabloom_rocksdb::check(text).unwrap_err().to_string();
        let set = deltabloom_rocksdb::set_filters(&mut Options::default(), text);
        for error in [checked, set.unwrap_err().to_string()] {
            assert!(
                error.starts_with("deltabloom: ") && error.contains(expected),
                "{error}"
            );
        }
    }
    assert!(deltabloom_rocksdb::check("deltabloom:12")
        .unwrap()
        .contains("bits_per_key=12"));
}
