package embedding

import "io"

// Pictures is a Format whose files may hold pictures beside their labels.
type Pictures interface {
	Format
	// OpenPictures opens the size bytes of r, which is read as long as the result is used. columns
	// names labels to read besides those that are usual. The result is nil if the file holds no
	// pictures.
	OpenPictures(r io.ReaderAt, size int64, columns []string) (*PictureFile, error)
}

// PictureFile is an open file of pictures, one a row.
type PictureFile struct {
	Rows int
	// Labels are the columns of labels; the first is what the pictures show. A missing value is
	// the empty text.
	Labels []PictureLabel
	// Pages are the parts that the pictures are read in, in the order of their rows.
	Pages []PicturePage
	// Load reads a page: the content of its image files, nil where a row has none. It may be
	// called by several goroutines.
	Load func(page int) ([][]byte, error)
}

// PicturePage is a part of a file of pictures: the rows from First up to the next page's.
type PicturePage struct {
	First int
	// Bytes is what it takes in memory.
	Bytes int64
}

// PictureLabel is a label of every row.
type PictureLabel struct {
	Name string
	Text []string
}
