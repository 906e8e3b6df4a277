// Package index keeps embedded items in a folder and finds the nearest of them:
// durably, exactly, and for several goroutines at once.
//
//	x, err := index.Create("photos.index", index.Config{Dim: 128})
//	_, err = x.Add(ctx, []store.Item{{ID: "a.jpg", Vector: v}}, index.AddOptions{})
//	f, err := store.ParseFilter(`price < 20 and category = "shoe"`)
//	res, err := x.Search(ctx, index.Query{Vector: q, K: 10, Filter: f})
//
// A store.Item has a unique ID, the path of its file, and values of typed columns; the
// first item with a value in a column defines the column's type. Its vector has the
// index's dimension. Create makes a folder, Open opens one. One process at a time can
// open it for writing; any number can read meanwhile.
//
// Add and Remove return when their changes would survive a loss of power. Each is done
// completely or not at all. Small ones that arrive together share one write to the
// disk. Search sees all changes that were acknowledged before it began; searches that
// arrive together share one pass over the vectors.
//
// A search is exact unless the index was compacted into lists; then Query.Exact makes
// it exact. Distances are computed in float64 from the float32 coordinates; ties are
// in the order of the IDs. A filter is applied before ranking: K items that pass it
// are found if the index has K.
//
// This package does not run the network that made the vectors, but keeps it in the
// folder, at NetworkDir; Info names it. docs/indexes.md has the commands and the files,
// package store the grammar of filters. Index.Store makes the index an engine for
// `kindred serve` and other users of package store.
package index
