//! Writes keys, and looks them and absent ones up. Usage: database PATH

const KEYS: u32 = 100_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: database PATH")?;
    let mut options = rocksdb::Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&rocksdb::BlockBasedOptions::default());
    deltabloom_rocksdb::set_filters(&mut options, "deltabloom:10")?;
    let db = rocksdb::DB::open(&options, path)?;
    println!("filters: {}", deltabloom_rocksdb::filters_of(&db)?);
    for i in 0..KEYS {
        db.put(format!("user{:09}", 2 * i), "value")?;
    }
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    let mut found = 0;
    for i in 0..2 * KEYS {
        found += u32::from(db.get(format!("user{i:09}"))?.is_some());
    }
    println!("{found} of {KEYS} keys found");
    print!(
        "{}",
        deltabloom_rocksdb::statistics(deltabloom_rocksdb::Format::Text)?
    );
    Ok(())
}
