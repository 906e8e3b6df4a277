// Package weights knows pretrained networks by name, and fetches them.
//
// Catalog is plain data: where each file lies officially, how large it is, what
// it was trained on and how well, how its images are prepared, and by which
// digest it is known. A Getter brings a file into the cache folder, whole and
// checked; Start says with which network training on photographs begins when
// nobody names one.
package weights
