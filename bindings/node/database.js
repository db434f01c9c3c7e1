// A database of the package @nxtedition/rocksdb with Deltabloom's filters.
//
// usage: node database.js DB POLICY, such as deltabloom:10
'use strict'

const { RocksLevel } = require('@nxtedition/rocksdb')

const KEYS = 300000

// Loads Deltabloom for the RocksDB of the addon, which must be loaded, and returns its functions
// check(text) and statistics(format). Throws an Error with one line if there is no module for it;
// RocksDB then goes on with its own filters.
function loadDeltabloom () {
  const plugin = process.env.DELTABLOOM_PLUGIN || '/usr/local/lib/libdeltabloom_rocksdb_plugin.so'
  const loaded = { exports: {} }
  process.dlopen(loaded, plugin)
  return loaded.exports
}

// The lookups in filters that did not say "no".
function passed (deltabloom) {
  const rows = JSON.parse(deltabloom.statistics('json')).rows
  return rows.reduce((sum, row) => sum + row.lookups - row.negatives, 0)
}

const key = i => 'user' + String(i).padStart(9, '0')

// Without Deltabloom, open() fails for the name of its policy: this addon passes RocksDB's error on.
const open = (path, filterPolicy) =>
  RocksLevel.open(path, { createIfMissing: true, columns: { default: { filterPolicy } } })

async function main (path, filterPolicy) {
  const deltabloom = loadDeltabloom()
  // What the text means, with all options, or an Error that says what is wrong with it.
  console.log(deltabloom.check(filterPolicy))
  let db = await open(path, filterPolicy)
  for (let i = 0; i < KEYS; i += 1000) {
    const batch = []
    for (let j = i; j < i + 1000; ++j) batch.push({ type: 'put', key: key(2 * j), value: 'value' })
    await db.batch(batch)
  }
  await db.close()

  db = await open(path, filterPolicy)
  let lost = 0
  let found = 0
  let falsePositives = 0
  for (let i = 0; i < KEYS; i += 1000) {
    const keys = Array.from({ length: 1000 }, (_, j) => key(2 * (i + j)))
    lost += (await db.getMany(keys)).filter(value => value !== 'value').length
    const before = passed(deltabloom)
    const absent = Array.from({ length: 1000 }, (_, j) => key(2 * (i + j) + 1))
    found += (await db.getMany(absent)).filter(value => value !== undefined).length
    falsePositives += passed(deltabloom) - before
  }
  await db.close()
  console.log(`${lost} keys lost, ${found} absent keys found, ${falsePositives} false positives`)
  if (lost + found > 0) process.exitCode = 1
}

main(...process.argv.slice(2)).catch(error => {
  console.error(error.message)
  process.exitCode = 1
})
