package imaging

import (
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// EXIF holds a file's data on how its picture was taken. Missing or damaged data have the
// zero value.
type EXIF struct {
	// Taken is the time of the camera's clock, to the second. The zone is unknown, so the time is
	// given as UTC.
	Taken time.Time
	// Camera is the make and model of the camera.
	Camera string
	// Latitude and Longitude, valid if Located is set, are in degrees, positive to the north and
	// east.
	Latitude, Longitude float64
	Located             bool
}

// ReadEXIF reads the EXIF block of a file. b is the file or, for a JPEG file, its beginning up to the image data.
// The time is from the tag DateTimeOriginal, the camera from Make and Model, and the place from GPSLatitude and
// GPSLongitude with their references. The place 0, 0 counts as unknown, because some cameras write it for an unknown
// place.
func ReadEXIF(b []byte) EXIF {
	f, err := sniff(b)
	if err != nil {
		return EXIF{}
	}
	t, first := readTags(f.exifBlock(b))
	p := EXIF{Taken: t.captureTime(first), Camera: t.camera(first)}
	p.Latitude, p.Longitude, p.Located = t.gpsPosition(first)
	return p
}

// camera joins make and model. The model often repeats the make.
func (t tags) camera(first uint64) string {
	const makeTag, modelTag = 0x010f, 0x0110
	maker, model := t.singleLine(first, makeTag), t.singleLine(first, modelTag)
	word, _, _ := strings.Cut(maker, " ")
	switch {
	case model == "":
		return maker
	case strings.HasPrefix(strings.ToLower(model), strings.ToLower(word)): // true also without a make
		return model
	}
	return maker + " " + model
}

// singleLine returns the text of a tag without blanks around it, or "" if it is not a single line.
func (t tags) singleLine(directory uint64, tag uint16) string {
	const longest = 100
	s := t.text(directory, tag)
	s, _, _ = strings.Cut(s, "\x00")
	s = strings.TrimSpace(s)
	unfit := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
	if len(s) > longest || strings.ContainsFunc(s, unfit) {
		return ""
	}
	return s
}

// gpsPosition reads the GPS directory.
func (t tags) gpsPosition(first uint64) (latitude, longitude float64, ok bool) {
	const gps = 0x8825
	directory, ok := t.subdirectory(first, gps)
	if !ok {
		return 0, 0, false
	}
	const latitudeRef, longitudeRef = 1, 3
	latitude, ok1 := t.gpsAngle(directory, latitudeRef, "N", "S")
	longitude, ok2 := t.gpsAngle(directory, longitudeRef, "E", "W")
	if !ok1 || !ok2 || latitude < -90 || latitude > 90 || longitude < -180 || longitude > 180 ||
		latitude == 0 && longitude == 0 {
		return 0, 0, false
	}
	return latitude, longitude, true
}

// gpsAngle reads degrees, minutes and seconds. Their tag follows the tag reference of the direction.
func (t tags) gpsAngle(directory uint64, reference uint16, plus, minus string) (float64, bool) {
	var sign float64
	switch t.singleLine(directory, reference) {
	case plus:
		sign = 1
	case minus:
		sign = -1
	default:
		return 0, false
	}
	const parts = 3
	kind, count, b := t.value(directory, reference+1)
	if kind != tagRational || count != parts {
		return 0, false
	}
	sum, unit := 0.0, 1.0
	for k := range uint64(parts) {
		over, under := t.order.Uint32(b[8*k:]), t.order.Uint32(b[8*k+4:])
		switch {
		case under > 0:
			sum += float64(over) / float64(under) / unit
		case over > 0 || k == 0: // some write 0/0 for the seconds
			return 0, false
		}
		unit *= 60
	}
	// Round to about a centimetre.
	return sign * math.Round(sum*1e7) / 1e7, sum <= 360
}

// CaptureTime returns when the photograph in a file was taken, to the second, by the camera's clock
// (EXIF tag DateTimeOriginal). The zone is unknown, so the time is given as UTC. It is the zero
// time if the file lacks the tag or is damaged, or if the clock was never set (0000:00:00).
//
// It does not read the tag DateTime, because programs that edit pictures write their own time
// there.
func CaptureTime(b []byte) time.Time { return ReadEXIF(b).Taken }

// captureTime reads DateTimeOriginal.
func (t tags) captureTime(first uint64) time.Time {
	const (
		exifDirectory, original = 0x8769, 0x9003
		layout                  = "2006:01:02 15:04:05"
	)
	directory, ok := t.subdirectory(first, exifDirectory)
	if !ok {
		return time.Time{}
	}
	text := t.text(directory, original)
	if len(text) < len(layout) {
		return time.Time{}
	}
	when, err := time.Parse(layout, text[:len(layout)])
	if err != nil {
		return time.Time{}
	}
	return when
}
