package returns

import (
	"strings"
	"time"
)

// A letterText is the mail with a label, in one language. "{sender}", "{link}",
// "{day}" and "{page}" are replaced.
type letterText struct{ Subject, Body string }

// letters are the mail in every language of the tracking page; English is the first
// resort of others.
var letters = map[string]letterText{
	"en": {"Your return label from {sender}", `{sender} has approved your return. Print this label and put it on the parcel:

{link}

The link works until {day}. After that, get the label on the tracking page:

{page}
`},
	"de": {"Ihr Rücksendeetikett von {sender}", `{sender} hat Ihre Rücksendung genehmigt. Drucken Sie dieses Etikett aus und kleben Sie es auf das Paket:

{link}

Der Link gilt bis {day}. Danach finden Sie das Etikett auf der Seite der Sendungsverfolgung:

{page}
`},
	"fr": {"Votre étiquette de retour de {sender}", `{sender} a accepté votre retour. Imprimez cette étiquette et collez-la sur le colis :

{link}

Le lien est valable jusqu'au {day}. Ensuite, vous trouverez l'étiquette sur la page de suivi :

{page}
`},
	"es": {"Su etiqueta de devolución de {sender}", `{sender} ha aprobado su devolución. Imprima esta etiqueta y péguela en el paquete:

{link}

El enlace es válido hasta el {day}. Después encontrará la etiqueta en la página de seguimiento:

{page}
`},
	"it": {"La sua etichetta di reso da {sender}", `{sender} ha approvato il suo reso. Stampi questa etichetta e la applichi sul pacco:

{link}

Il link è valido fino al {day}. Dopo troverà l'etichetta nella pagina di tracciamento:

{page}
`},
	"nl": {"Uw retourlabel van {sender}", `{sender} heeft uw retour goedgekeurd. Print dit label en plak het op het pakket:

{link}

De link werkt tot en met {day}. Daarna vindt u het label op de trackingpagina:

{page}
`},
	"pl": {"Etykieta zwrotna od {sender}", `{sender} zatwierdził zwrot. Wydrukuj tę etykietę i naklej ją na paczkę:

{link}

Link działa do {day}. Później etykieta jest dostępna na stronie śledzenia:

{page}
`},
	"pt": {"A sua etiqueta de devolução de {sender}", `{sender} aprovou a sua devolução. Imprima esta etiqueta e cole-a na encomenda:

{link}

O link é válido até {day}. Depois encontra a etiqueta na página de rastreio:

{page}
`},
}

// denials are the mail about a return that was denied, in the same languages. The
// reason is on the page: the mail has no text that an account writes freely, because
// the address can be anybody's.
var denials = map[string]letterText{
	"en": {"Your return to {sender}", `{sender} has not approved your return. You find the reason on the tracking page of your parcel:

{page}
`},
	"de": {"Ihre Rücksendung an {sender}", `{sender} hat Ihre Rücksendung nicht genehmigt. Den Grund finden Sie auf der Seite der Sendungsverfolgung:

{page}
`},
	"fr": {"Votre retour à {sender}", `{sender} n'a pas accepté votre retour. La raison figure sur la page de suivi de votre colis :

{page}
`},
	"es": {"Su devolución a {sender}", `{sender} no ha aprobado su devolución. Encontrará el motivo en la página de seguimiento de su paquete:

{page}
`},
	"it": {"Il suo reso a {sender}", `{sender} non ha approvato il suo reso. Troverà il motivo nella pagina di tracciamento del pacco:

{page}
`},
	"nl": {"Uw retour naar {sender}", `{sender} heeft uw retour niet goedgekeurd. De reden staat op de trackingpagina van uw pakket:

{page}
`},
	"pl": {"Zwrot do {sender}", `{sender} nie zatwierdził zwrotu. Powód znajduje się na stronie śledzenia paczki:

{page}
`},
	"pt": {"A sua devolução a {sender}", `{sender} não aprovou a sua devolução. O motivo encontra-se na página de rastreio da sua encomenda:

{page}
`},
}

// letter returns the mail with the label's link.
func letter(language, sender, link, page string, until time.Time) (subject, text string) {
	return write(letters, language,
		"{sender}", sender,
		"{link}", link,
		"{page}", page,
		"{day}", until.UTC().Format(time.DateOnly),
	)
}

// denial returns the mail about a return that was denied.
func denial(language, sender, page string) (subject, text string) {
	return write(denials, language,
		"{sender}", sender,
		"{page}", page,
	)
}

// write fills in the text of a language. What is filled in is not searched for
// further fields.
func write(texts map[string]letterText, language string, fields ...string) (subject, text string) {
	base, _, _ := strings.Cut(language, "-")
	chosen, ok := texts[base]
	if !ok {
		chosen = texts["en"]
	}
	filled := strings.NewReplacer(fields...)
	return filled.Replace(chosen.Subject), filled.Replace(chosen.Body)
}
