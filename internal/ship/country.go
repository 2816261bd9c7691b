package ship

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/bojanz/address"
)

// KnownCountry reports whether code is an ISO 3166-1 alpha-2 code in upper
// case. The codes that ISO reserves for the post (IC, EA, AC, TA, ...) and XK
// count.
func KnownCountry(code string) bool { return countries()[code] != nil }

// CountryName returns the English name of a country, or "" if there is no such
// country.
func CountryName(code string) string {
	if c := countries()[code]; c != nil {
		return c.name
	}
	return ""
}

// StateName returns the name of a state that Normalize wrote as a code ("13"
// is Tokyo in JP), or the code itself if it is no code we know. Addresses are
// printed with it where people do not write codes.
func StateName(country, code string) string {
	if c := countries()[country]; c != nil {
		if name, ok := c.format.Regions.Get(code); ok {
			return name
		}
	}
	return code
}

// A country is what we know of a country's addresses.
type country struct {
	code, name string
	format     address.Format
	needsState bool
	needsZip   bool
	zipDigits  int                      // a code of exactly so many digits is right without a further look
	zipFormat  func() *regexp.Regexp    // nil where there are no postal codes
	states     func() map[string]string // what people write -> code; empty where we know none
}

// countries is built on first use; the regular expressions and the names of
// the states again on theirs, because most are never used.
var countries = sync.OnceValue(func() map[string]*country {
	all := make(map[string]*country)
	for code, name := range address.GetCountryNames() {
		c := &country{code: code, name: name, format: address.GetFormat(code)}
		c.needsState = slices.Contains(strings.Fields(stateNeeded), code)
		c.states = sync.OnceValue(c.indexStates)
		if pattern := c.format.PostalCodePattern; pattern != "" {
			c.needsZip = !slices.Contains(strings.Fields(zipSeldom), code)
			c.zipDigits = plainDigits(pattern)
			c.zipFormat = sync.OnceValue(c.compileZip)
		}
		all[code] = c
	}
	return all
})

// stateNeeded lists the countries whose addresses carriers reject without a
// state. Elsewhere the postal code implies it, and people leave it out.
const stateNeeded = "AU BR CA IN MX US"

// stateOf returns the bare code of a state from its code, its ISO 3166-2 code
// or its name, and whether the country has such a state. Where we know no
// states, any is accepted.
func (c *country) stateOf(s string) (string, bool) {
	index := c.states()
	if code, ok := index[s]; ok {
		return code, true
	}

	bare := s
	if len(s) > 3 && s[2] == '-' && strings.EqualFold(s[:2], c.code) {
		bare = s[3:]
	}
	if len(index) > 0 {
		if code, ok := index[fold(bare)]; ok {
			return code, true
		}
		return s, false
	}

	// We know no states of this country. What looks like a code is one.
	if isWord(bare) && (len(bare) == 2 || len(bare) <= 3 && bare != s) {
		return upperASCII(bare), true
	}
	return s, true
}

// nearestState returns the code of the state whose name is most like s.
func (c *country) nearestState(s string) string {
	var names []string
	for _, code := range c.format.Regions.Keys() {
		names = append(names, StateName(c.code, code))
	}
	if name := Nearest(s, names); name != "" {
		return c.states()[fold(name)]
	}
	return ""
}

// indexStates returns the codes of the country's states by what people write.
func (c *country) indexStates() map[string]string {
	index := make(map[string]string)
	add := func(written, code string) {
		if index[written] == "" {
			index[written] = code
		}
	}

	// Codes come first: a state's code is never read as another's name.
	for _, code := range c.format.Regions.Keys() {
		add(code, code)
		add(fold(code), code)
	}

	for _, regions := range []address.RegionMap{c.format.Regions, c.format.LocalRegions} {
		for _, code := range regions.Keys() {
			name, _ := regions.Get(code)
			if c.format.Regions.HasKey(code) {
				add(fold(name), code)
			}
		}
	}

	for pair := range strings.FieldsSeq(stateAliases[c.code]) {
		written, code, _ := strings.Cut(pair, "=")
		add(written, code)
	}
	return index
}

// CountryCode returns the code of a country as people write it: its code, its
// alpha-3 code or a name; false if it is none that we know.
func CountryCode(written string) (string, bool) {
	word := fold(written)
	if code := upperASCII(word); KnownCountry(code) {
		return code, true
	}
	for pair := range strings.FieldsSeq(alpha3) {
		if strings.EqualFold(pair[2:], word) {
			return pair[:2], true
		}
	}
	for pair := range strings.FieldsSeq(countryAliases) {
		if name, code, _ := strings.Cut(pair, "="); name == word {
			return code, true
		}
	}
	code, ok := countryNames().code[word]
	return code, ok
}

// CountryAlpha3 returns the alpha-3 code of a country, which some carriers ask
// for: "DEU" for "DE"; empty if there is none.
func CountryAlpha3(code string) string {
	for pair := range strings.FieldsSeq(alpha3) {
		if strings.EqualFold(pair[:2], code) {
			return pair[2:]
		}
	}
	return ""
}

// nearestCountry returns the code of the country that s names, or of the one
// whose name is most like it.
func nearestCountry(s string) string {
	if code, ok := CountryCode(s); ok {
		return code
	}
	names := countryNames()
	return names.code[Nearest(fold(s), names.list)]
}

// nameIndex holds the folded names of all countries, for suggestions.
type nameIndex struct {
	list []string
	code map[string]string
}

var countryNames = sync.OnceValue(func() nameIndex {
	names := nameIndex{code: make(map[string]string)}
	for _, code := range address.GetCountryCodes() {
		name := fold(CountryName(code))
		names.list = append(names.list, name)
		names.code[name] = code
	}
	return names
})

// alpha3 pairs the alpha-2 with the alpha-3 codes of ISO 3166-1.
const alpha3 = "ADAND AEARE AFAFG AGATG AIAIA ALALB AMARM AOAGO AQATA ARARG ASASM ATAUT AUAUS AWABW AXALA AZAZE BABIH BBBRB BDBGD BEBEL BFBFA BGBGR " +
	"BHBHR BIBDI BJBEN BLBLM BMBMU BNBRN BOBOL BQBES BRBRA BSBHS BTBTN BVBVT BWBWA BYBLR BZBLZ CACAN CCCCK CDCOD CFCAF CGCOG CHCHE CICIV " +
	"CKCOK CLCHL CMCMR CNCHN COCOL CRCRI CUCUB CVCPV CWCUW CXCXR CYCYP CZCZE DEDEU DJDJI DKDNK DMDMA DODOM DZDZA ECECU EEEST EGEGY EHESH " +
	"ERERI ESESP ETETH FIFIN FJFJI FKFLK FMFSM FOFRO FRFRA GAGAB GBGBR GDGRD GEGEO GFGUF GGGGY GHGHA GIGIB GLGRL GMGMB GNGIN GPGLP GQGNQ " +
	"GRGRC GSSGS GTGTM GUGUM GWGNB GYGUY HKHKG HMHMD HNHND HRHRV HTHTI HUHUN IDIDN IEIRL ILISR IMIMN ININD IOIOT IQIRQ IRIRN ISISL ITITA " +
	"JEJEY JMJAM JOJOR JPJPN KEKEN KGKGZ KHKHM KIKIR KMCOM KNKNA KPPRK KRKOR KWKWT KYCYM KZKAZ LALAO LBLBN LCLCA LILIE LKLKA LRLBR LSLSO " +
	"LTLTU LULUX LVLVA LYLBY MAMAR MCMCO MDMDA MEMNE MFMAF MGMDG MHMHL MKMKD MLMLI MMMMR MNMNG MOMAC MPMNP MQMTQ MRMRT MSMSR MTMLT MUMUS " +
	"MVMDV MWMWI MXMEX MYMYS MZMOZ NANAM NCNCL NENER NFNFK NGNGA NINIC NLNLD NONOR NPNPL NRNRU NUNIU NZNZL OMOMN PAPAN PEPER PFPYF PGPNG " +
	"PHPHL PKPAK PLPOL PMSPM PNPCN PRPRI PSPSE PTPRT PWPLW PYPRY QAQAT REREU ROROU RSSRB RURUS RWRWA SASAU SBSLB SCSYC SDSDN SESWE SGSGP " +
	"SHSHN SISVN SJSJM SKSVK SLSLE SMSMR SNSEN SOSOM SRSUR SSSSD STSTP SVSLV SXSXM SYSYR SZSWZ TCTCA TDTCD TFATF TGTGO THTHA TJTJK TKTKL " +
	"TLTLS TMTKM TNTUN TOTON TRTUR TTTTO TVTUV TWTWN TZTZA UAUKR UGUGA UMUMI USUSA UYURY UZUZB VAVAT VCVCT VEVEN VGVGB VIVIR VNVNM VUVUT " +
	"WFWLF WSWSM XKXKX YEYEM YTMYT ZAZAF ZMZMB ZWZWE"

// countryAliases are names, folded, beside CLDR's own.
const countryAliases = "uk=GB greatbritain=GB britain=GB england=GB scotland=GB wales=GB northernireland=GB unitedstatesofamerica=US " +
	"america=US holland=NL thenetherlands=NL czechrepublic=CZ turkey=TR korea=KR republicofkorea=KR ivorycoast=CI macedonia=MK " +
	"burma=MM myanmar=MM swaziland=SZ hongkong=HK macau=MO macao=MO uae=AE ksa=SA russianfederation=RU drc=CD deutschland=DE " +
	"osterreich=AT oesterreich=AT schweiz=CH suisse=CH svizzera=CH espana=ES italia=IT brasil=BR polska=PL sverige=SE norge=NO " +
	"danmark=DK suomi=FI belgique=BE belgie=BE nederland=NL"

// stateAliases are further spellings, folded, for the countries that need a
// state: what shops and forms send beside ISO's codes.
var stateAliases = map[string]string{
	"CA": "pq=QC nf=NL newfoundland=NL labrador=NL pei=PE yk=YT yukonterritory=YT nwt=NT",
	"IN": "or=OD orissa=OD tg=TS ct=CG ut=UK ua=UK uttaranchal=UK pondicherry=PY dd=DH dn=DH dadraandnagarhaveli=DH damananddiu=DH " +
		"newdelhi=DL nctofdelhi=DL nationalcapitalterritoryofdelhi=DL andamanandnicobarislands=AN",
	"MX": "ags=AGU bc=BCN bajacalifornianorte=BCN bs=BCS camp=CAM cdmx=CMX df=CMX dif=CMX distritofederal=CMX mexicocity=CMX " +
		"coah=COA coahuiladezaragoza=COA cs=CHP chis=CHP ch=CHH chih=CHH dgo=DUG dur=DUG mexico=MEX em=MEX edomex=MEX " +
		"edodemexico=MEX edodemex=MEX stateofmexico=MEX gto=GUA gr=GRO hgo=HID mich=MIC michoacandeocampo=MIC nl=NLE qro=QUE " +
		"queretarodearteaga=QUE qr=ROO qroo=ROO tamps=TAM tlax=TLA veracruzdeignaciodelallave=VER",
	"US": "washingtondc=DC usvirginislands=VI armedforcesamericas=AA armedforceseurope=AE armedforcespacific=AP " +
		"federatedstatesofmicronesia=FM",
}

// accents groups letters with their accented forms.
var accents = strings.Fields("aàáâãäåāăą cçćĉčċ dďđð eèéêëēĕėęě gĝğġģ hĥħ iìíîïĩīĭįı jĵ kķ lĺļľł nñńņňŋ oòóôõöøōŏő rŕŗř sśŝşšșß tţťŧț uùúûüũūŭůűų wŵ yýŷÿ zźżž")

// fold reduces a name to what people agree on: no case, accents, spaces or
// punctuation.
func fold(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r == '&':
			b.WriteString("and")
		case r >= '\u0300' && r <= '\u036f': // combining accents
		case unicode.IsLetter(r), unicode.IsMark(r), unicode.IsDigit(r):
			b.WriteRune(withoutAccent(r))
		}
	}
	return b.String()
}

func withoutAccent(r rune) rune {
	if r > unicode.MaxASCII {
		for _, group := range accents {
			if strings.ContainsRune(group, r) {
				return rune(group[0])
			}
		}
	}
	return r
}
