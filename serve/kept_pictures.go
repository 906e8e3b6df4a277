package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/kindred-ml/kindred/data/imaging"
	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/serve/api"
)

// keptPictureBytes bounds the pictures that are kept for searches. They also take at most a quarter of Limits.Memory.
const keptPictureBytes = 64 << 20

// keepPicture answers POST /v1/pictures: it keeps a picture in memory for later searches.
func (s *Server) keepPicture(w http.ResponseWriter, r *http.Request) error {
	t, params, err := mediaType(r)
	if err != nil {
		return err
	}
	if t != "multipart/form-data" {
		return badType.newProblem("Send the picture as the field image of multipart/form-data.",
			"bodies of the type %s are not supported here", escape.ClipTo(t, 64))
	}
	f, err := readForm(r, params["boundary"], 1, nil)
	if err != nil {
		return err
	}
	picture := f.pictures[0]
	if len(picture) > s.pictures.maxBytes {
		return tooLarge.newProblem("Send a smaller picture, or start the server with more memory for requests.",
			"the picture has %d bytes, but the server keeps at most %d", len(picture), s.pictures.maxBytes)
	}
	kept := &cachedPicture{file: picture}
	err = s.withPicture(r.Context(), picture, bodyOf(r).loan, func(p *imaging.Picture) error {
		kept.kind = p.MediaType()
		return nil
	})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(picture)
	kept.tag = hex.EncodeToString(sum[:])
	s.pictures.put(kept)
	return writeJSON(w, http.StatusCreated, api.Picture{Picture: kept.tag})
}

// findKeptPicture returns a picture by its name.
func (s *Server) findKeptPicture(name string) (*cachedPicture, error) {
	if p := s.pictures.get(name); p != nil {
		return p, nil
	}
	return nil, notFound.newProblem("Send the picture again by POST /v1/pictures.",
		"the server does not keep the picture %q: "+
			"it was never sent, or other pictures have taken its place, or the server was started again",
		escape.ClipTo(name, 64))
}

// keptPicture answers GET /v1/pictures/{digest}.
func (s *Server) keptPicture(w http.ResponseWriter, r *http.Request) error {
	p, err := s.findKeptPicture(r.PathValue("digest"))
	if err != nil {
		return err
	}
	return p.send(w, `"`+p.tag+`"`)
}
