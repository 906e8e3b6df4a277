// Package embio reads embeddings and labels from the files other tools write:
// NumPy's .npy and .npz, safetensors, CSV and Parquet; and writes .npy and CSV.
// In: a path. Out: a Table of float32 rows with columns of labels, or an error
// that says what in the file is wrong. Files are not trusted: sizes they claim
// are checked against what they hold before memory is taken.
package embio
