// The search of a site without a server. It finds entries that have all words of
// the query, or the beginnings of words; a word in a heading counts more.
"use strict";
(function (root) {
  function singular(word) {
    if (word.length > 4 && word.endsWith("ies")) return word.slice(0, -3) + "y";
    if (word.length > 4 && /(sses|ches|shes|xes)$/.test(word)) return word.slice(0, -2);
    if (word.length > 3 && /s$/.test(word) && !/(ss|us|is)$/.test(word)) return word.slice(0, -1);
    return word;
  }

  function words(text) {
    var list = [];
    (text.match(/[\p{L}\p{Nd}_-]+/gu) || []).forEach(function (name) {
      name = name.replace(/^[_-]+|[_-]+$/g, "");
      if (!name) return;
      list.push(singular(name.replaceAll("-", "").toLowerCase()));
      var parts = name.replace(/(\p{Ll})(\p{Lu})/gu, "$1_$2").split(/[_-]+/);
      if (parts.length > 1) parts.forEach(function (part) { list.push(singular(part.toLowerCase())); });
    });
    return list;
  }

  // count returns how often a word is among others, and how often as a beginning.
  function count(list, word) {
    var n = 0;
    list.forEach(function (other) {
      if (other === word) n += 1;
      else if (word.length > 2 && other.startsWith(word)) n += 0.5;
    });
    return n;
  }

  function find(entries, query) {
    var wanted = Array.from(new Set(words(query.slice(0, 100)))).slice(0, 8);
    var scored = [];
    var everywhere = wanted.map(function () { return 0; });
    entries.forEach(function (entry) {
      if (!entry.words) entry.words = [words(entry.Title), words(entry.Page), words(entry.Text)];
      var shares = wanted.map(function (word, i) {
        var n = 8 * count(entry.words[0], word) + 2 * count(entry.words[1], word) + count(entry.words[2], word);
        if (n) everywhere[i]++;
        return 2.4 * n / (n + 1.4 * (0.4 + 0.6 * entry.words[2].length / 80));
      });
      scored.push({ entry: entry, shares: shares });
    });
    scored.forEach(function (s) {
      s.matched = s.shares.filter(function (share) { return share > 0; }).length;
      s.score = s.shares.reduce(function (sum, share, i) {
        return sum + share * Math.log(1 + entries.length / (everywhere[i] + 1));
      }, 0) * s.entry.Weight;
    });
    var all = scored.filter(function (s) { return s.matched && s.matched === wanted.length; });
    if (!all.length) all = scored.filter(function (s) { return s.matched; });
    return all.sort(function (a, b) { return b.score - a.score; }).slice(0, 20).map(function (s) { return s.entry; });
  }

  // snippet returns the part of a text around the first word of the query.
  function snippet(text, query) {
    var wanted = words(query);
    var fields = text.split(" ");
    var first = fields.findIndex(function (field) {
      return words(field).some(function (word) { return wanted.some(function (w) { return word.startsWith(w); }); });
    });
    var begin = Math.max(first - 8, 0);
    return (begin > 0 ? "… " : "") + fields.slice(begin, begin + 36).join(" ") + (begin + 36 < fields.length ? " …" : "");
  }

  if (typeof module === "object") {
    module.exports = find;
    return;
  }

  var query = new URLSearchParams(root.location.search).get("q") || "";
  var summary = root.document.getElementById("summary");
  var list = root.document.getElementById("results");
  root.document.querySelector(".bar input[type=search]").value = query;
  if (!query.trim()) {
    summary.textContent = "Enter a word, the name of a field, a path of the API or the code of an error.";
    return;
  }

  var found = find(root.entries, query);
  summary.textContent = found.length ? found.length + (found.length > 1 ? " results for " : " result for ") + query : "Nothing was found for " + query + ". Try fewer or other words.";
  found.forEach(function (entry) {
    var item = root.document.createElement("li");
    var link = root.document.createElement("a");
    link.href = entry.Address;
    link.textContent = entry.Title;
    var page = root.document.createElement("small");
    page.textContent = entry.Page;
    var text = root.document.createElement("p");
    text.textContent = snippet(entry.Text, query);
    item.append(link, " ");
    if (entry.Page !== entry.Title) item.append(page);
    item.append(text);
    list.appendChild(item);
  });
})(typeof window === "object" ? window : globalThis);
