// Package embedding reads and writes embeddings with their labels, in the formats
// of other tools: NumPy's .npy and .npz, safetensors, CSV, and, with package
// embedding/parquet, Parquet.
//
//	t, err := embedding.Load("E.npy", "Y.csv", nil) // vectors here, labels there
//	labels := t.Labels()                            // numbers, a slice for each column
//
// A Table is n rows of vectors with columns of labels and the names of the items;
// each part may be missing. A name's extension chooses the format. Read, Load and
// Write take paths, Formats.ReadFS takes a file system, a Format an io.ReaderAt or
// an io.Writer, and Decode any io.Reader. Files are replaced whole or not at all.
//
// In files whose columns have names, embedding_0, embedding_1, ... or one list of
// floats are the vectors, path (file, filename) names the items, id identifies
// them, and all else is a label: 64-bit integers or text, which never pass through
// floating point. Archives of arrays hold one matrix of floats, called embeddings,
// features or x where there are several, and label arrays by name; y and labels
// are read as label.
//
// Files are not trusted: what one claims is compared with what it contains and
// with the limit on memory (GOMEMLIMIT, else half of the machine's) before memory
// is taken.
package embedding
