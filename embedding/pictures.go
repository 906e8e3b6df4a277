package embedding

import "io"

// PictureFormat is a Format whose files may hold pictures with labels.
type PictureFormat interface {
	Format
	// OpenPictures opens the size bytes of r, which is read as long as the result is used. columns
	// names labels to read in addition to the usual ones. It returns nil if the file holds no
	// pictures.
	OpenPictures(r io.ReaderAt, size int64, columns []string) (*PictureFile, error)
}

// PictureFile is an open file of pictures, one in each row.
type PictureFile struct {
	Rows int
	// Labels are the columns of labels. The first is the class of the pictures. A missing value is the
	// empty text.
	Labels []PictureLabel
	// Pages are the parts in which the pictures are read, in the order of their rows.
	Pages []PicturePage
	// Load returns the content of the image files of a page, with nil for rows without one. It is safe
	// for concurrent use.
	Load func(page int) ([][]byte, error)
}

// PicturePage is a part of a file of pictures: the rows from First up to the First of the next page.
type PicturePage struct {
	First int
	// Bytes is its size in memory.
	Bytes int64
}

// PictureLabel is a label of every row.
type PictureLabel struct {
	Name string
	Text []string
}
