// Package parquet adds Apache Parquet to the formats of package embedding. It is
// a separate package so that only programs that use it link a Parquet library.
//
//	files := embedding.Formats{parquet.Format{}}
//	t, err := files.Read("E.parquet")
//
// Embeddings are one list column of floats, or columns embedding_0, embedding_1,
// .... The column path (or file, filename) names the items; a column id in which
// no value occurs twice identifies them. Other columns of integers, booleans and
// text are labels; columns of other types are ignored (but see
// Format.Fractions). Files are written with the columns id, path, the labels as
// 64-bit integers or strings, and the list embedding; pandas, Polars, DuckDB and
// Spark read them.
package parquet
