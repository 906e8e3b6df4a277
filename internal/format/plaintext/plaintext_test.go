package plaintext

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReader(t *testing.T) {
	long := strings.Repeat("embedding_1,", 1<<18)
	for text, want := range map[string]string{
		"":                       "",
		"a,b\nc,d\n":             "a,b\nc,d\n",
		"\ufeffa\r\nb\r\n":       "a\r\nb\r\n",
		"a\rb\rc":                "a\nb\nc",
		"\ufeffa\rb\r":           "a\nb\n",
		"a\n\"b\rc\"\n":          "a\n\"b\rc\"\n",
		"\r\ra\rb":               "\n\na\nb",
		"\"a\rb\",c\nd\r":        "\"a\rb\",c\nd\r",
		"\"a\nb\",c\rd\r":        "\"a\nb\",c\nd\n",
		long + "\rx\r":           long + "\nx\n",
		long + "\r\nx\r":         long + "\r\nx\r",
		"a\r":                    "a\r",
		"\x00a":                  "\x00a",
		"a\x00b\x00":             "utf16",
		"\x00a\x00b":             "utf16",
		"\xff\xfea\x00":          "utf16",
		"\xfe\xff\x00a\x00,\x00": "utf16",
	} {
		for name, r := range map[string]io.Reader{"": strings.NewReader(text),
			"one byte": iotest.OneByteReader(strings.NewReader(text))} {
			in, err := NewReader(r)
			if want == "utf16" {
				if !errors.Is(err, ErrUTF16) {
					t.Errorf("%.20q: %v", text, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%.20q: %v", text, err)
			}
			if got, err := io.ReadAll(in); err != nil || string(got) != want {
				t.Errorf("%.20q %s: %.40q, %v", text, name, got, err)
			}
		}
		got, err := Bytes([]byte(text))
		if (want == "utf16") != errors.Is(err, ErrUTF16) || want != "utf16" && string(got) != want {
			t.Errorf("%.20q: %.40q, %v", text, got, err)
		}
	}
	broken := errors.New("broken")
	in, err := NewReader(iotest.ErrReader(broken))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.ReadByte(); !errors.Is(err, broken) {
		t.Error(err)
	}
}
