package review

import (
	"bytes"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// line ends a line of the document. It is also the space between words.
var line = g.Raw("\n")

// pageFrame returns the page without the cards, which its script makes. The style sheet is in the
// head and the scripts are at the end. In a page that is a file, the head begins with the policy.
func pageFrame(title, lead string, head, scripts g.Node) ([]byte, error) {
	button := func(id, says, key string) g.Node {
		return g.Group{h.Button(h.ID(id), g.If(key != "", h.Title(key)), g.Text(says)), line}
	}
	page := g.Group{g.Raw("<!DOCTYPE html>\n"), h.HTML(h.Lang("en"),
		line, h.Head(
			line, h.Meta(h.Charset("utf-8")),
			line, h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			line, h.TitleEl(g.Text(title)),
			line, head, line),
		line, h.Body(
			line, h.Header(
				line, h.H1(h.ID("title"), g.Text(title)),
				line, h.P(h.ID("lead"), g.Text(lead)),
				line, h.Div(h.ID("bar"), line, g.El("output", h.ID("progress")), line,
					button("undo", "Undo", "u"),
					button("manifest", "Save the manifest", "m"),
					button("log", "Save the log of changes", "l"),
					button("again", "Start again", "")),
				line, keyList(), line),
			line, h.Main(h.ID("cards")),
			line, h.Dialog(h.ID("ask"), h.Form(h.Method("dialog"),
				h.Label(g.Text("Label "), h.Input(h.ID("label"), g.Attr("list", "labels"), h.AutoComplete("off"))),
				line, h.DataList(h.ID("labels")), g.Text(" "),
				h.Button(h.Value("ok"), g.Text("Give it")), g.Text(" "), h.Button(h.Value(""), g.Text("Cancel")))),
			line, h.NoScript(h.P(g.Text("The page needs scripts to keep decisions; "+
				"the lists are in the CSV files beside it."))),
			line, scripts), line), line}
	var b bytes.Buffer
	err := page.Render(&b)
	return b.Bytes(), err
}

// keyList returns the list of keys.
func keyList() g.Node {
	key := func(k string) g.Node { return h.Kbd(g.Text(k)) }
	return h.Details(h.ID("keys"), g.Attr("open"), h.Summary(g.Text("Keys")), g.Text(" "),
		key("a"), g.Text(" accept, "), key("r"), g.Text(" relabel as suggested, "),
		key("e"), g.Text(" another label, "),
		key("s"), g.Text(" split off as a class of its own, "), key("A"), g.Text(" "), key("S"),
		g.Text(" accept or split all sub-classes of a class, "), key("d"), g.Text(" drop, "),
		key("u"), g.Text(" undo, "), key("j"), g.Text(" "), key("k"),
		g.Text(" or arrows: next, previous, "), key("n"), g.Text(" next undecided, "),
		key("m"), g.Text(" save the manifest, "), key("l"), g.Text(" save the log"))
}
