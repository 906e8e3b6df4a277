// Package index keeps embedded items in a folder and finds the nearest of them:
// durably, exactly, from several goroutines at once.
//
//	x, err := index.Create("photos.index", index.Config{Dim: 128})
//	_, err = x.Add(ctx, []store.Item{{ID: "a.jpg", Vector: v}}, index.AddOptions{})
//	f, err := store.ParseFilter(`price < 20 and category = "shoe"`)
//	res, err := x.Search(ctx, index.Query{Vector: q, K: 10, Filter: f})
//
// A store.Item has an ID, which no other has, the path of its file, and values of
// typed columns, which the first item that has one defines. Its vector has the index's
// dimension. Create makes a folder, Open opens one: for writing, which one process at
// a time can, or for reading, which any number can meanwhile.
//
// Add and Remove return when what they did would outlive a loss of power. Each is
// done whole or not at all. Small ones that arrive together share one write to the
// disk. Search sees all that was acknowledged before it began; searches that
// arrive together share one pass over the vectors.
//
// A search is exact unless the index was compacted into lists, and then can be
// asked to be: distances are float64 functions of the float32 coordinates, ties
// are in the order of the IDs. A filter is applied before ranking: K items that
// pass it are found if there are that many.
//
// The network that made the vectors is no business of this package, but travels in
// the folder: NetworkDir is where, and Info says which. docs/index.md has the
// commands and the files, package store the grammar of filters. Index.Store is an
// index as an engine that `kindred serve` and any other user of package store takes.
package index
