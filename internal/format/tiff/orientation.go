package tiff

// Orientation is how a picture is turned, 1 to 8 as EXIF has it; 1, upright, where the file
// does not say.
func Orientation(b []byte) int {
	d, err := readDirectory(b)
	if err != nil {
		return 1
	}
	if o := d.number(tagOrientation, 1); 1 <= o && o <= 8 {
		return o
	}
	return 1
}
