// Package embedding reads and writes embeddings with their labels, in the formats
// of other tools: NumPy's .npy and .npz, safetensors, CSV, and, with package
// internal/parquet, Parquet.
//
//	t, err := embedding.Load("E.npy", "Y.csv", nil) // embeddings and labels
//	labels := t.Labels()                            // numbers, a slice for each column
//
// A Table has n rows of vectors, columns of labels and the names of the items. Each part may be missing. The
// extension of a file's name determines the format. Read, Load and Write take paths, Formats.ReadFS takes a
// file system, a Format takes an io.ReaderAt or an io.Writer, and Decode takes any io.Reader. A file is
// replaced completely or not at all.
//
// In files with named columns the vectors are embedding_0, embedding_1, ... or a list of floats. The column
// path (file, filename) has the names of the items, and id identifies them. All other columns are labels:
// 64-bit integers or text, which are never converted to floating point. Archives of arrays hold a matrix of
// floats, called embeddings, features or x if there are several, and arrays of labels by name; y and labels
// are read as label.
//
// Files are not trusted. Before memory is allocated, the sizes that a file claims are compared with its
// content and with the limit on memory (GOMEMLIMIT, else half of the machine's memory).
package embedding
