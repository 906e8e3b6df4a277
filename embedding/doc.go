// Package embedding reads embeddings and labels from the files other tools write:
// NumPy's .npy and .npz, safetensors, CSV and Parquet; and writes .npy and CSV.
// In: a path. Out: a Table of float32 rows with columns of labels, or an error
// that says what is wrong with the file. Files are not trusted: the sizes they
// claim are checked against what they contain before memory is allocated.
package embedding
