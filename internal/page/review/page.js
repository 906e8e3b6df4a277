"use strict";
{
const $ = id => document.getElementById(id);
const fresh = () => ({done: {}, past: [], at: 0}); // done: the decision of each card; past: the cards in the order of decisions
const say = text => { $("progress").textContent = text; };

// review shows data.cards with the decisions in state. keep(state) is called after every
// change. It returns replace(state), which shows other decisions, and progress().
const review = (data, state, keep) => {
	const names = data.names || data.paths;
	const element = (name, text, className) => {
		const e = document.createElement(name);
		// Characters that change the direction of text are not shown.
		if (text !== undefined) e.textContent = text.replace(/\p{Bidi_Control}/gu, "\ufffd");
		if (className) e.className = className;
		return e;
	};

	// The choices of a card: a key, a word, and the decision.
	const choices = card => [
		{key: "a", word: card.group ? "Accept: same class" : "Accept the label", make: () => ({action: "accept"})},
		...(card.suggested && !card.group ? [{key: "r", word: "Relabel " + card.suggested,
			make: () => ({action: "relabel", label: card.suggested})}] : []),
		{key: "e", word: "Other label", ask: true},
		...(card.group ? [{key: "s", word: "Split off as " + card.suggested,
			make: () => ({action: "split", label: card.suggested})}] : []),
		{key: "d", word: "Drop", make: () => ({action: "drop"})},
		...(card.class !== undefined ? [
			{key: "A", word: "Accept all of " + card.class, all: true, make: () => ({action: "accept"})},
			{key: "S", word: "Split all of " + card.class, all: true,
				make: of => ({action: "split", label: of.suggested})}] : []),
	];
	const says = d => !d ? "" : d.action === "accept" ? "accepted" : d.action === "drop" ? "dropped" :
		(d.action === "split" ? "split off as " : "relabelled ") + d.label;

	const articles = data.cards.map((card, k) => {
		const a = element("article");
		a.append(element("h2", card.title + (card.score ? " (" + card.score + ")" : "")), element("p", card.reason));
		const row = element("div", undefined, "pictures");
		for (const p of card.pictures || []) {
			const f = element("figure");
			if (p.src) {
				const img = element("img", undefined, p.tiny ? "tiny" : "");
				img.loading = "lazy";
				img.alt = p.caption;
				img.src = p.src;
				f.append(img);
			} else f.append(element("div", undefined, "none"));
			const c = element("figcaption", p.caption);
			c.title = p.caption;
			f.append(c);
			row.append(f);
		}
		const offered = element("div", undefined, "choices");
		for (const c of choices(card)) {
			const b = element("button", c.word);
			b.dataset.key = c.key;
			b.addEventListener("click", () => { go(k); choose(c); });
			offered.append(b);
		}
		a.append(row, offered, element("p", "", "state"));
		a.addEventListener("click", () => { if (state.at !== k) go(k, true); });
		return a;
	});
	$("cards").append(...articles);
	$("bar").hidden = $("keys").hidden = !articles.length;
	if (!articles.length) $("cards").append(element("p", "There is nothing to decide."));
	for (const l of [...data.labels].sort()) {
		const o = element("option");
		o.value = l;
		$("labels").append(o);
	}

	const show = k => {
		const a = articles[k], d = state.done[k];
		a.className = (d ? d.action : "") + (k === state.at ? " here" : "");
		a.querySelector(".state").textContent = says(d);
	};
	const progress = () => {
		const n = Object.keys(state.done).length;
		$("progress").textContent = `${n} of ${data.cards.length} decided`;
		$("undo").disabled = !state.past.length;
	};
	const go = (k, still) => {
		if (!articles.length) return;
		const was = state.at;
		state.at = Math.min(Math.max(k, 0), articles.length - 1);
		if (articles[was]) show(was);
		show(state.at);
		if (!still && (k || was)) articles[state.at].scrollIntoView({block: "nearest"}); // the first is below the title
		keep(state);
	};
	const undecided = () => {
		for (let i = 1; i <= articles.length; i++) {
			const k = (state.at + i) % articles.length;
			if (!state.done[k]) return k;
		}
		return state.at;
	};
	// Decisions that are made together have the same time, and are undone together.
	const decide = (d, cards = [state.at]) => {
		const last = Date.parse(state.past.at(-1)?.at) || 0;
		const at = new Date(Math.max(Date.now(), last + 1)).toISOString();
		for (const k of cards) {
			state.past.push({card: k, ...(state.done[k] && {was: state.done[k]}), at});
			state.done[k] = {...(d.make ? d.make(data.cards[k]) : d), at};
			show(k);
		}
		progress();
		go(undecided());
	};
	// ofClass returns the undecided cards of the class, and the current card.
	const ofClass = () => data.cards.map((_, k) => k).filter(k => k === state.at ||
		(data.cards[k].class === data.cards[state.at].class && !state.done[k]));
	const choose = c => {
		if (c.all) return decide(c, ofClass());
		if (!c.ask) return decide(c.make(data.cards[state.at]));
		const card = data.cards[state.at];
		$("label").value = card.suggested || data.labels[data.label[card.items[0]]];
		$("ask").returnValue = "";
		$("ask").showModal();
		$("label").select();
	};
	$("ask").addEventListener("close", () => {
		const label = $("label").value.trim();
		if ($("ask").returnValue === "ok" && label)
			decide({action: data.cards[state.at].group && !data.labels.includes(label) ? "split" : "relabel", label});
	});
	const undo = () => {
		const first = state.past.at(-1);
		if (!first) return;
		for (let last = first; last && last.at === first.at; last = state.past.at(-1)) {
			state.past.pop();
			if (last.was) state.done[last.card] = last.was; else delete state.done[last.card];
			show(last.card);
		}
		progress();
		go(first.card);
	};

	// Decisions are applied in order, and a later one counts. A drop is final for its items.
	const corrected = () => {
		const label = data.label.map(l => data.labels[l]), coarse = [...label], dropped = new Set();
		let split = false;
		const order = Object.keys(state.done).map(Number).sort((p, q) => state.done[p].at < state.done[q].at ? -1 :
			state.done[p].at > state.done[q].at ? 1 : p - q);
		for (const k of order) {
			const d = state.done[k];
			for (const i of data.cards[k].items) {
				if (d.action === "drop") dropped.add(i);
				else if (d.action === "relabel") label[i] = coarse[i] = d.label;
				else if (d.action === "split") { label[i] = d.label; split = true; }
			}
		}
		return {label, coarse, dropped, split};
	};
	const field = s => /[",\r\n]|^\s|\s$/.test(s) ? '"' + s.replaceAll('"', '""') + '"' : s;
	const csv = rows => rows.map(r => r.map(field).join(",") + "\n").join("");
	const manifest = () => {
		const {label, coarse, dropped, split} = corrected();
		const columns = [["path", data.paths]];
		if (data.finer && !split) columns.push(["label", data.finer], ["coarse", label]);
		else {
			columns.push(["label", label]);
			if (split) columns.push(["coarse", coarse]);
			if (data.finer) columns.push(["fine", data.finer]);
		}
		if (data.splits.some(s => s)) columns.push(["split", data.split.map(s => data.splits[s])]);
		for (const o of data.others || []) {
			const exchanged = (list, i) => list.split("|").map(l => l === data.labels[data.label[i]] ? label[i] : l).join("|");
			const name = columns.some(c => c[0] === o.name) ? o.name + "_read" : o.name;
			columns.push([name, o.name === "labels" && !split ? o.text.map(exchanged) : o.text]);
		}
		const rows = [columns.map(c => c[0])];
		data.paths.forEach((_, i) => { if (!dropped.has(i)) rows.push(columns.map(c => c[1][i])); });
		return csv(rows);
	};
	const log = () => {
		const rows = [["time", "action", "path", "from", "to", "reason"]];
		for (const k of Object.keys(state.done).sort((p, q) => state.done[p].at < state.done[q].at ? -1 : 1)) {
			const d = state.done[k], card = data.cards[k];
			for (const i of card.items) {
				const from = data.labels[data.label[i]];
				rows.push([d.at, d.action, names[i], from, d.action === "drop" ? "" : d.label || from, card.reason]);
			}
		}
		return csv(rows);
	};
	const save = (name, text) => {
		const a = element("a");
		a.href = URL.createObjectURL(new Blob([text], {type: "text/csv"}));
		a.download = name;
		document.body.append(a);
		a.click();
		a.remove();
		setTimeout(() => URL.revokeObjectURL(a.href), 10000);
	};
	const saveManifest = () => save("manifest.csv", manifest()), saveLog = () => save("changes.csv", log());
	$("undo").addEventListener("click", undo);
	$("manifest").addEventListener("click", saveManifest);
	$("log").addEventListener("click", saveLog);
	$("again").addEventListener("click", () => {
		if (!Object.keys(state.done).length || !confirm("Forget all decisions on this page?")) return;
		replace(fresh());
	});
	document.addEventListener("keydown", e => {
		if (e.ctrlKey || e.metaKey || e.altKey || $("ask").open || e.target.tagName === "INPUT") return;
		const move = {j: 1, ArrowDown: 1, ArrowRight: 1, k: -1, ArrowUp: -1, ArrowLeft: -1}[e.key];
		if (move) go(state.at + move);
		else if (e.key === "u") undo();
		else if (e.key === "n") go(undecided());
		else if (e.key === "m") saveManifest();
		else if (e.key === "l") saveLog();
		else {
			const c = data.cards.length && choices(data.cards[state.at]).find(c => c.key === e.key);
			if (!c) return;
			choose(c);
		}
		e.preventDefault();
	});
	const replace = now => {
		state = now;
		articles.forEach((_, k) => show(k));
		progress();
		go(state.at);
	};
	replace(state);
	return {replace, progress};
};

// still is the page as a file. It keeps decisions in the browser.
const still = source => {
	const key = source.dataset.key;
	let state = fresh();
	try {
		const kept = JSON.parse(localStorage.getItem(key));
		if (kept && kept.done && Array.isArray(kept.past)) state = kept;
	} catch { /* nothing was kept, or it cannot be read: begin anew */ }
	review(JSON.parse(source.textContent), state, now => {
		try { localStorage.setItem(key, JSON.stringify(now)); } catch (e) {
			say("The browser does not keep the progress: " + e.message);
		}
	});
};

// live is the page of a server, which keeps decisions. Each request sends all of them,
// one request after the other. If somebody else has decided meanwhile, their decisions
// are shown, and the decisions made here since then are lost.
const live = async () => {
	const call = async (path, options) => (await kindredServer.ask(path, options)).json();
	say("…");
	let page, kept;
	try {
		page = await call("v1/review");
		kept = await call("v1/review/decisions");
	} catch (e) { say(e.message); return; }
	document.title = $("title").textContent = page.title;
	$("lead").textContent = page.lead;
	let wanted, sending = false, told = JSON.stringify([kept.done, kept.past]);
	const send = async () => {
		sending = true;
		document.body.dataset.sending = "";
		while (wanted) {
			const body = JSON.stringify({...wanted, version: kept.version});
			wanted = null;
			try {
				// A short request arrives even if the page is left now.
				kept = await call("v1/review/decisions", {method: "PUT", headers: {"Content-Type": "application/json"},
					body, keepalive: body.length < 60000});
				shown.progress();
			} catch (e) {
				if (e.code === "conflict") {
					wanted = null;
					kept = await call("v1/review/decisions");
					told = JSON.stringify([kept.done, kept.past]);
					shown.replace({done: kept.done, past: kept.past, at: kept.at});
					say("Somebody else has decided meanwhile. The page now shows their decisions. " + $("progress").textContent);
				} else {
					told = ""; // the next decision then sends this one too
					say("Not kept: " + e.message);
				}
			}
		}
		sending = false;
		delete document.body.dataset.sending;
	};
	const shown = review(page.data, {done: kept.done, past: kept.past, at: kept.at}, now => {
		const text = JSON.stringify([now.done, now.past]);
		if (text === told) return; // only looked elsewhere
		told = text;
		wanted = JSON.parse(JSON.stringify(now));
		if (!sending) send();
	});
};

if (matchMedia("(max-width: 700px)").matches) $("keys").open = false;
const source = $("data");
if (source) still(source); else live();
}
