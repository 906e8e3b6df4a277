package imaging

import (
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Photograph is what a file says of how its picture was taken. Anything that it does not
// say, or says in a damaged way, has the zero value.
type Photograph struct {
	// Taken is the camera's clock, to the second. The zone is unknown, so the time is
	// given as UTC.
	Taken time.Time
	// Camera is its make and model.
	Camera string
	// Latitude and Longitude are in degrees, north and east positive, if Located is set.
	Latitude, Longitude float64
	Located             bool
}

// ReadPhotograph reads the EXIF block of a file: JPEG, PNG, WebP or TIFF. b is the file or,
// of a JPEG file, its beginning up to the image data. The time is the tag
// DateTimeOriginal, the camera Make and Model, the place GPSLatitude and GPSLongitude with
// their references. The place 0, 0 counts as unknown, because some cameras write it then.
func ReadPhotograph(b []byte) Photograph {
	f, err := sniff(b)
	if err != nil {
		return Photograph{}
	}
	t, first := readTags(f.exif(b))
	p := Photograph{Taken: t.taken(first), Camera: t.camera(first)}
	p.Latitude, p.Longitude, p.Located = t.place(first)
	return p
}

// camera joins make and model. The model often repeats the make.
func (t tags) camera(first uint64) string {
	const makeTag, modelTag = 0x010f, 0x0110
	maker, model := t.line(first, makeTag), t.line(first, modelTag)
	word, _, _ := strings.Cut(maker, " ")
	switch {
	case model == "":
		return maker
	case strings.HasPrefix(strings.ToLower(model), strings.ToLower(word)): // also if there is no make
		return model
	}
	return maker + " " + model
}

// line is a text of one line without blanks around it, "" if a tag has no such text.
func (t tags) line(directory uint64, tag uint16) string {
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

// place reads the directory of a GPS receiver.
func (t tags) place(first uint64) (latitude, longitude float64, ok bool) {
	const gps = 0x8825
	directory, ok := t.sub(first, gps)
	if !ok {
		return 0, 0, false
	}
	const latitudeRef, longitudeRef = 1, 3
	latitude, ok1 := t.angle(directory, latitudeRef, "N", "S")
	longitude, ok2 := t.angle(directory, longitudeRef, "E", "W")
	if !ok1 || !ok2 || latitude < -90 || latitude > 90 || longitude < -180 || longitude > 180 ||
		latitude == 0 && longitude == 0 {
		return 0, 0, false
	}
	return latitude, longitude, true
}

// angle reads degrees, minutes and seconds from the tag behind that of their direction.
func (t tags) angle(directory uint64, reference uint16, plus, minus string) (float64, bool) {
	var sign float64
	switch t.line(directory, reference) {
	case plus:
		sign = 1
	case minus:
		sign = -1
	default:
		return 0, false
	}
	const rational, parts = 5, 3
	e := t.entry(directory, reference+1)
	if e == nil || t.order.Uint16(e[2:]) != rational || t.order.Uint32(e[4:]) != parts {
		return 0, false
	}
	at := uint64(t.order.Uint32(e[8:]))
	if at+8*parts > uint64(len(t.b)) {
		return 0, false
	}
	sum, unit := 0.0, 1.0
	for k := range uint64(parts) {
		over, under := t.order.Uint32(t.b[at+8*k:]), t.order.Uint32(t.b[at+8*k+4:])
		switch {
		case under > 0:
			sum += float64(over) / float64(under) / unit
		case over > 0 || k == 0: // some write 0/0 for the seconds
			return 0, false
		}
		unit *= 60
	}
	// A centimetre is enough.
	return sign * math.Round(sum*1e7) / 1e7, sum <= 360
}
