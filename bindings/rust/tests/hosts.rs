//! The real crate with Deltabloom's filters.

use deltabloom_rocksdb::{Format, Ranges, Scan};
use rocksdb::statistics::Ticker;
use rocksdb::{BlockBasedOptions, Cache, ColumnFamilyDescriptor, Env, IteratorMode, Options};
use rocksdb::{ReadOptions, DB};

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
    assert!(deltabloom_rocksdb::filters_of_cf(&db, &small)
        .unwrap()
        .contains("layout=local"));
}

/// Keys of even groups, in three tables that all span all groups.
fn fill_groups(db: &DB) {
    for table in 0..3 {
        for group in 0..200 {
            let key = format!("group:{:03}:{table}", 2 * group);
            db.put(key, format!("{table}")).unwrap();
        }
        db.flush().unwrap();
    }
}

type Item = (Vec<u8>, Vec<u8>);

fn all_of(mut scan: Scan, forwards: bool) -> Vec<Item> {
    let mut found = Vec::new();
    if forwards {
        scan.seek_to_first();
    } else {
        scan.seek_to_last();
    }
    while let Some((key, value)) = scan.item() {
        found.push((key.to_vec(), value.to_vec()));
        if forwards {
            scan.next();
        } else {
            scan.prev();
        }
    }
    scan.status().unwrap();
    found
}

/// What the crate's own iterator finds.
fn all_between(db: &DB, lower: &str, upper: &str) -> Vec<Item> {
    let mut options = ReadOptions::default();
    options.set_iterate_lower_bound(lower);
    options.set_iterate_upper_bound(upper);
    db.iterator_opt(IteratorMode::Start, options)
        .map(|item| item.unwrap())
        .map(|(key, value)| (key.into_vec(), value.into_vec()))
        .collect()
}

fn statistic(ranges: &Ranges, name: &str) -> u64 {
    let json = ranges.statistics(Format::Json).unwrap();
    let field = format!("\"{name}\":");
    let at = json.find(&field).expect(&json) + field.len();
    let digits = json[at..].trim_start();
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap();
    digits[..end].parse().unwrap()
}

#[test]
fn scans_skip_tables_and_find_all_keys() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options_with("deltabloom:10");
    let ranges = Ranges::add_to(&mut options, "prefixes=':'").unwrap();
    let db = DB::open(&options, folder.path()).unwrap();
    drop(options);
    fill_groups(&db);

    for group in 0..400 {
        let (lower, upper) = (format!("group:{group:03}:"), format!("group:{group:03};"));
        let expected = all_between(&db, &lower, &upper);
        assert_eq!(expected.len(), if group % 2 == 0 { 3 } else { 0 });
        let scan = ranges.scan(&db, &lower, Some(upper.as_bytes())).unwrap();
        assert_eq!(all_of(scan, true), expected);
        let scan = ranges.scan_prefix(&db, &lower).unwrap();
        assert_eq!(
            all_of(scan, false),
            expected.into_iter().rev().collect::<Vec<_>>()
        );
    }
    // 400 of the 800 scans are for absent groups, in three tables each.
    assert_eq!(statistic(&ranges, "empty_scans"), 400);
    let rejected = statistic(&ranges, "tables_rejected");
    assert!((1000..=1200).contains(&rejected), "{rejected} rejected");

    // Without bounds, by seeks, and in another thread.
    let mut scan = ranges.clone().scan(&db, "", None).unwrap();
    scan.seek("group:010:");
    assert_eq!(scan.key(), Some(&b"group:010:0"[..]));
    scan.seek_for_prev("group:009:");
    assert_eq!(scan.item(), Some((&b"group:008:2"[..], &b"2"[..])));
    assert_eq!(
        std::thread::scope(|scope| scope.spawn(|| all_of(scan, true)).join().unwrap()).len(),
        600
    );
    let mut scan = ranges.scan_prefix(&db, "x").unwrap();
    assert!(!scan.valid() && scan.item().is_none());
    scan.seek_to_first();
    scan.next();
    assert!(!scan.valid() && scan.key().is_none() && scan.value().is_none());
    drop(scan);
    drop(db);

    // Reopened from its OPTIONS file, where the crate gives no options to add to.
    deltabloom_rocksdb::register().unwrap();
    let cache = Cache::new_lru_cache(8 << 20);
    let (loaded, families) =
        Options::load_latest(folder.path(), Env::new().unwrap(), false, cache).unwrap();
    let db = DB::open_cf_descriptors(&loaded, folder.path(), families).unwrap();
    let ranges = Ranges::add_to(&mut Options::default(), "prefixes=':'").unwrap();
    assert_eq!(
        all_of(ranges.scan_prefix(&db, "group:200:").unwrap(), true).len(),
        3
    );
    assert!(all_of(ranges.scan_prefix(&db, "group:201:").unwrap(), true).is_empty());
    assert_eq!(statistic(&ranges, "tables_rejected"), 3);
}

#[test]
fn scans_of_families_in_another_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut reverse = options_with("deltabloom:10");
    reverse.set_comparator("reverse", Box::new(|a, b| b.cmp(a)));
    let error = Ranges::add_to(&mut reverse, "prefixes=':'").err().unwrap();
    assert!(error.to_string().contains("order"), "{error}");
    let ranges = Ranges::add_to(&mut reverse, "prefixes=':';key_order=reverse_bytewise").unwrap();
    {
        let families = [
            ColumnFamilyDescriptor::new("default", options_with("")),
            ColumnFamilyDescriptor::new("reverse", reverse),
        ];
        let db = DB::open_cf_descriptors(&options_with(""), folder.path(), families).unwrap();
        let family = db.cf_handle("reverse").unwrap();
        for key in ["a:1", "a:2", "b:1", "c:1"] {
            db.put_cf(&family, key, "").unwrap();
        }
        db.flush_cf(&family).unwrap();
        let keys = |scan| -> Vec<String> {
            all_of(scan, true)
                .into_iter()
                .map(|(key, _)| String::from_utf8(key).unwrap())
                .collect()
        };
        assert_eq!(
            keys(ranges.scan_cf(&db, &family, "b:9", Some(b"a:1")).unwrap()),
            ["b:1", "a:2"]
        );
        assert_eq!(
            keys(ranges.scan_prefix_cf(&db, &family, "a:").unwrap()),
            ["a:2", "a:1"]
        );
        assert!(keys(ranges.scan_prefix_cf(&db, &family, "bb:").unwrap()).is_empty());
    }

    // The comparator lives as long as the range filters, whatever they are asked.
    let folder = tempfile::tempdir().unwrap();
    let db = DB::open(&options_with(""), folder.path()).unwrap();
    db.put("a:1", "").unwrap();
    db.flush().unwrap();
    assert!(all_of(ranges.scan(&db, "b", Some(b"a")).unwrap(), true).is_empty());
}

#[test]
fn wrong_range_options_are_errors() {
    for (text, expected) in [
        ("bits_per_key=1", "bits_per_key"),
        ("prefix=':'", "prefix"),
        ("a\0b", "a zero byte"),
    ] {
        let error = Ranges::add_to(&mut Options::default(), text).err().unwrap();
        let error = error.to_string();
        assert!(
            error.starts_with("deltabloom: ") && error.contains(expected) && !error.contains('\n'),
            "{error}"
        );
    }
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
