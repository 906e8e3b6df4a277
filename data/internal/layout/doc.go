// Package layout recognises how a data set is stored, and lists its samples in plain values.
//
// Open probes the layouts one after the other: a benchmark's official files, a manifest, shards, tables, and at last
// folders of classes. The reader of each is in a file with its name. It fills a Set, of which package data makes a
// Dataset.
package layout
