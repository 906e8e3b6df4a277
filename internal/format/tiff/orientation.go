package tiff

// Orientation is how the picture is turned, 1 to 8 as EXIF has it; 1, upright, where the file
// does not say.
func (f *File) Orientation() int {
	const tag = 274
	if o := f.number(tag, 1); 1 <= o && o <= 8 {
		return o
	}
	return 1
}
