package web

// A tongue is a language of the public tracking page: its texts, and how it
// writes days and hours.
type tongue struct {
	Code, Name string
	Date       string // "{weekday}", "{day}" and "{month}" stand in it
	Clock      string // layout of package time
	Weekdays   [7]string
	Months     [12]string
	Texts      map[string]string
}

// tongues are all of them; the first is for those who read none. A text is
// found by its name, a status by the status itself.
var tongues = []tongue{
	{
		"en", "English", "{weekday}, {month} {day}", "3:04 PM", englishDays, englishMonths, englishTexts,
	},
	{
		"en-GB", "English (UK)", "{weekday} {day} {month}", "15:04", englishDays, englishMonths, englishTexts,
	},
	{
		"de", "Deutsch", "{weekday}, {day}. {month}", "15:04",
		[7]string{"Sonntag", "Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag"},
		[12]string{"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"},
		map[string]string{
			"title": "Ihr Paket", "from": "von", "expected": "Voraussichtliche Zustellung", "delivered_on": "Zugestellt am", "none": "Noch kein Termin bekannt",
			"history": "Verlauf", "carrier": "Paketdienst", "number": "Sendungsnummer", "to": "Ziel", "parcel": "Paket", "language": "Sprache", "progress": "Fortschritt",
			"times": "Zeiten gelten für den jeweiligen Ort.", "checked": "Zuletzt geprüft", "test": "Dies ist ein Test: Es ist kein Paket unterwegs.",
			"missing_title": "Dieses Paket finden wir nicht", "missing": "Bitte prüfen Sie den Link oder fragen Sie den Absender.",
			"busy_title": "Einen Moment bitte", "busy": "Diese Seite wird gerade zu oft abgerufen. Versuchen Sie es in einer Minute noch einmal.",
			"later_title": "Die Sendungsverfolgung ist gerade nicht verfügbar", "later": "Bitte versuchen Sie es in einigen Minuten noch einmal.",
			"created": "Angekündigt", "label_generated": "Vorbereitet", "picked_up": "Abgeholt", "in_transit": "Unterwegs", "out_for_delivery": "In Zustellung", "delivered": "Zugestellt", "exception": "Verzögert", "voided": "Storniert",
			"created.long": "Der Absender bereitet das Paket vor.", "label_generated.long": "Das Paket ist bereit für den Paketdienst.", "picked_up.long": "Der Paketdienst hat das Paket übernommen.",
			"in_transit.long": "Das Paket ist unterwegs.", "out_for_delivery.long": "Das Paket wird zugestellt.", "delivered.long": "Das Paket wurde zugestellt.",
			"exception.long": "Das Paket ist aufgehalten worden.", "voided.long": "Der Absender hat die Sendung storniert.",
			"why.customs": "Es liegt beim Zoll.", "why.weather": "Das Wetter verzögert die Zustellung.", "why.delay": "Es dauert etwas länger.", "why.attempt": "Ein Zustellversuch war nicht erfolgreich.",
			"why.address": "Die Adresse wurde nicht gefunden.", "why.back": "Es geht an den Absender zurück.", "why.damaged": "Es wurde beschädigt.", "why.lost": "Es wird gesucht.", "why.held": "Es liegt zur Abholung oder Klärung bereit.",
		},
	},
	{
		"fr", "Français", "{weekday} {day} {month}", "15:04",
		[7]string{"dimanche", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"},
		[12]string{"janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre", "décembre"},
		map[string]string{
			"title": "Votre colis", "from": "de", "expected": "Livraison prévue", "delivered_on": "Livré le", "none": "Pas encore de date connue",
			"history": "Historique", "carrier": "Transporteur", "number": "Numéro de suivi", "to": "Destination", "parcel": "Colis", "language": "Langue", "progress": "Avancement",
			"times": "Les heures sont celles de chaque lieu.", "checked": "Dernière vérification", "test": "Ceci est un test : aucun colis n’est en route.",
			"missing_title": "Ce colis est introuvable", "missing": "Vérifiez le lien ou demandez à l’expéditeur.",
			"busy_title": "Un instant", "busy": "Cette page est demandée trop souvent. Réessayez dans une minute.",
			"later_title": "Le suivi est momentanément indisponible", "later": "Réessayez dans quelques minutes.",
			"created": "Annoncé", "label_generated": "Préparé", "picked_up": "Pris en charge", "in_transit": "En transit", "out_for_delivery": "En livraison", "delivered": "Livré", "exception": "Retardé", "voided": "Annulé",
			"created.long": "L’expéditeur prépare le colis.", "label_generated.long": "Le colis est prêt pour le transporteur.", "picked_up.long": "Le transporteur a pris le colis en charge.",
			"in_transit.long": "Le colis est en route.", "out_for_delivery.long": "Le colis est en cours de livraison.", "delivered.long": "Le colis a été livré.",
			"exception.long": "Le colis est retardé.", "voided.long": "L’expéditeur a annulé cet envoi.",
			"why.customs": "Il est à la douane.", "why.weather": "La météo retarde la livraison.", "why.delay": "L’acheminement prend plus de temps.", "why.attempt": "Une tentative de livraison a échoué.",
			"why.address": "L’adresse n’a pas été trouvée.", "why.back": "Il retourne à l’expéditeur.", "why.damaged": "Il a été endommagé.", "why.lost": "Il est recherché.", "why.held": "Il attend un retrait ou une vérification.",
		},
	},
	{
		"es", "Español", "{weekday}, {day} de {month}", "15:04",
		[7]string{"domingo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado"},
		[12]string{"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"},
		map[string]string{
			"title": "Su paquete", "from": "de", "expected": "Entrega prevista", "delivered_on": "Entregado el", "none": "Aún no hay fecha",
			"history": "Historial", "carrier": "Transportista", "number": "Número de seguimiento", "to": "Destino", "parcel": "Paquete", "language": "Idioma", "progress": "Progreso",
			"times": "Las horas son las de cada lugar.", "checked": "Última comprobación", "test": "Esto es una prueba: no hay ningún paquete en camino.",
			"missing_title": "No encontramos este paquete", "missing": "Compruebe el enlace o pregunte al remitente.",
			"busy_title": "Un momento", "busy": "Esta página se consulta con demasiada frecuencia. Inténtelo de nuevo en un minuto.",
			"later_title": "El seguimiento no está disponible en este momento", "later": "Inténtelo de nuevo dentro de unos minutos.",
			"created": "Anunciado", "label_generated": "Preparado", "picked_up": "Recogido", "in_transit": "En tránsito", "out_for_delivery": "En reparto", "delivered": "Entregado", "exception": "Retrasado", "voided": "Anulado",
			"created.long": "El remitente prepara el paquete.", "label_generated.long": "El paquete está listo para el transportista.", "picked_up.long": "El transportista tiene el paquete.",
			"in_transit.long": "El paquete está en camino.", "out_for_delivery.long": "El paquete está en reparto.", "delivered.long": "El paquete se ha entregado.",
			"exception.long": "El paquete está retenido.", "voided.long": "El remitente ha anulado este envío.",
			"why.customs": "Está en la aduana.", "why.weather": "El tiempo retrasa la entrega.", "why.delay": "Tarda más de lo previsto.", "why.attempt": "Un intento de entrega no tuvo éxito.",
			"why.address": "No se encontró la dirección.", "why.back": "Vuelve al remitente.", "why.damaged": "Ha sufrido daños.", "why.lost": "Se está buscando.", "why.held": "Espera su recogida o una aclaración.",
		},
	},
	{
		"it", "Italiano", "{weekday} {day} {month}", "15:04",
		[7]string{"domenica", "lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato"},
		[12]string{"gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre", "ottobre", "novembre", "dicembre"},
		map[string]string{
			"title": "Il tuo pacco", "from": "da", "expected": "Consegna prevista", "delivered_on": "Consegnato", "none": "Nessuna data ancora",
			"history": "Cronologia", "carrier": "Corriere", "number": "Numero di tracciamento", "to": "Destinazione", "parcel": "Pacco", "language": "Lingua", "progress": "Avanzamento",
			"times": "Gli orari sono quelli di ciascun luogo.", "checked": "Ultimo controllo", "test": "Questa è una prova: nessun pacco è in viaggio.",
			"missing_title": "Non troviamo questo pacco", "missing": "Controlla il link o chiedi al mittente.",
			"busy_title": "Un momento", "busy": "Questa pagina viene richiesta troppo spesso. Riprova tra un minuto.",
			"later_title": "Il tracciamento al momento non è disponibile", "later": "Riprovate tra qualche minuto.",
			"created": "Annunciato", "label_generated": "Preparato", "picked_up": "Ritirato", "in_transit": "In transito", "out_for_delivery": "In consegna", "delivered": "Consegnato", "exception": "In ritardo", "voided": "Annullato",
			"created.long": "Il mittente prepara il pacco.", "label_generated.long": "Il pacco è pronto per il corriere.", "picked_up.long": "Il corriere ha ritirato il pacco.",
			"in_transit.long": "Il pacco è in viaggio.", "out_for_delivery.long": "Il pacco è in consegna.", "delivered.long": "Il pacco è stato consegnato.",
			"exception.long": "Il pacco è fermo.", "voided.long": "Il mittente ha annullato la spedizione.",
			"why.customs": "È alla dogana.", "why.weather": "Il maltempo ritarda la consegna.", "why.delay": "Ci vuole più tempo del previsto.", "why.attempt": "Un tentativo di consegna non è riuscito.",
			"why.address": "L’indirizzo non è stato trovato.", "why.back": "Torna al mittente.", "why.damaged": "È stato danneggiato.", "why.lost": "Lo stiamo cercando.", "why.held": "È in attesa di ritiro o di chiarimenti.",
		},
	},
	{
		"nl", "Nederlands", "{weekday} {day} {month}", "15:04",
		[7]string{"zondag", "maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag"},
		[12]string{"januari", "februari", "maart", "april", "mei", "juni", "juli", "augustus", "september", "oktober", "november", "december"},
		map[string]string{
			"title": "Uw pakket", "from": "van", "expected": "Verwachte bezorging", "delivered_on": "Bezorgd op", "none": "Nog geen datum bekend",
			"history": "Verloop", "carrier": "Vervoerder", "number": "Trackingnummer", "to": "Bestemming", "parcel": "Pakket", "language": "Taal", "progress": "Voortgang",
			"times": "Tijden gelden voor de genoemde plaats.", "checked": "Laatst gecontroleerd", "test": "Dit is een test: er is geen pakket onderweg.",
			"missing_title": "We vinden dit pakket niet", "missing": "Controleer de link of vraag het de afzender.",
			"busy_title": "Een ogenblik", "busy": "Deze pagina wordt te vaak opgevraagd. Probeer het over een minuut opnieuw.",
			"later_title": "Track & trace is nu niet beschikbaar", "later": "Probeer het over een paar minuten opnieuw.",
			"created": "Aangekondigd", "label_generated": "Klaargemaakt", "picked_up": "Opgehaald", "in_transit": "Onderweg", "out_for_delivery": "Wordt bezorgd", "delivered": "Bezorgd", "exception": "Vertraagd", "voided": "Geannuleerd",
			"created.long": "De afzender maakt het pakket klaar.", "label_generated.long": "Het pakket ligt klaar voor de vervoerder.", "picked_up.long": "De vervoerder heeft het pakket.",
			"in_transit.long": "Het pakket is onderweg.", "out_for_delivery.long": "Het pakket wordt bezorgd.", "delivered.long": "Het pakket is bezorgd.",
			"exception.long": "Het pakket is opgehouden.", "voided.long": "De afzender heeft deze zending geannuleerd.",
			"why.customs": "Het ligt bij de douane.", "why.weather": "Het weer vertraagt de bezorging.", "why.delay": "Het duurt iets langer.", "why.attempt": "Een bezorgpoging is niet gelukt.",
			"why.address": "Het adres is niet gevonden.", "why.back": "Het gaat terug naar de afzender.", "why.damaged": "Het is beschadigd.", "why.lost": "Het wordt gezocht.", "why.held": "Het wacht op afhalen of op opheldering.",
		},
	},
	{
		"pl", "Polski", "{weekday}, {day} {month}", "15:04",
		[7]string{"niedziela", "poniedziałek", "wtorek", "środa", "czwartek", "piątek", "sobota"},
		[12]string{"stycznia", "lutego", "marca", "kwietnia", "maja", "czerwca", "lipca", "sierpnia", "września", "października", "listopada", "grudnia"},
		map[string]string{
			"title": "Twoja paczka", "from": "od", "expected": "Przewidywana dostawa", "delivered_on": "Doręczono", "none": "Termin nie jest jeszcze znany",
			"history": "Historia", "carrier": "Przewoźnik", "number": "Numer przesyłki", "to": "Cel", "parcel": "Paczka", "language": "Język", "progress": "Postęp",
			"times": "Godziny są czasem danego miejsca.", "checked": "Ostatnio sprawdzono", "test": "To jest test: żadna paczka nie jest w drodze.",
			"missing_title": "Nie znajdujemy tej paczki", "missing": "Sprawdź link albo zapytaj nadawcę.",
			"busy_title": "Chwileczkę", "busy": "Ta strona jest pobierana zbyt często. Spróbuj ponownie za minutę.",
			"later_title": "Śledzenie jest chwilowo niedostępne", "later": "Spróbuj ponownie za kilka minut.",
			"created": "Zapowiedziana", "label_generated": "Przygotowana", "picked_up": "Odebrana", "in_transit": "W drodze", "out_for_delivery": "W doręczeniu", "delivered": "Doręczona", "exception": "Opóźniona", "voided": "Anulowana",
			"created.long": "Nadawca przygotowuje paczkę.", "label_generated.long": "Paczka czeka na przewoźnika.", "picked_up.long": "Przewoźnik odebrał paczkę.",
			"in_transit.long": "Paczka jest w drodze.", "out_for_delivery.long": "Paczka jest w doręczeniu.", "delivered.long": "Paczka została doręczona.",
			"exception.long": "Paczka została zatrzymana.", "voided.long": "Nadawca anulował tę przesyłkę.",
			"why.customs": "Jest w urzędzie celnym.", "why.weather": "Pogoda opóźnia dostawę.", "why.delay": "To trwa nieco dłużej.", "why.attempt": "Próba doręczenia nie powiodła się.",
			"why.address": "Nie znaleziono adresu.", "why.back": "Wraca do nadawcy.", "why.damaged": "Została uszkodzona.", "why.lost": "Jest poszukiwana.", "why.held": "Czeka na odbiór lub wyjaśnienie.",
		},
	},
	{
		"pt", "Português", "{weekday}, {day} de {month}", "15:04",
		[7]string{"domingo", "segunda-feira", "terça-feira", "quarta-feira", "quinta-feira", "sexta-feira", "sábado"},
		[12]string{"janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro"},
		map[string]string{
			"title": "A sua encomenda", "from": "de", "expected": "Entrega prevista", "delivered_on": "Entregue em", "none": "Ainda sem data",
			"history": "Histórico", "carrier": "Transportadora", "number": "Número de rastreio", "to": "Destino", "parcel": "Volume", "language": "Idioma", "progress": "Progresso",
			"times": "As horas são as de cada lugar.", "checked": "Última verificação", "test": "Isto é um teste: nenhuma encomenda está a caminho.",
			"missing_title": "Não encontramos esta encomenda", "missing": "Verifique o link ou pergunte ao remetente.",
			"busy_title": "Um momento", "busy": "Esta página está a ser pedida com demasiada frequência. Tente de novo dentro de um minuto.",
			"later_title": "O rastreio não está disponível de momento", "later": "Tente de novo dentro de alguns minutos.",
			"created": "Anunciada", "label_generated": "Preparada", "picked_up": "Recolhida", "in_transit": "Em trânsito", "out_for_delivery": "Em distribuição", "delivered": "Entregue", "exception": "Atrasada", "voided": "Cancelada",
			"created.long": "O remetente prepara a encomenda.", "label_generated.long": "A encomenda está pronta para a transportadora.", "picked_up.long": "A transportadora recolheu a encomenda.",
			"in_transit.long": "A encomenda está a caminho.", "out_for_delivery.long": "A encomenda está em distribuição.", "delivered.long": "A encomenda foi entregue.",
			"exception.long": "A encomenda está retida.", "voided.long": "O remetente cancelou este envio.",
			"why.customs": "Está na alfândega.", "why.weather": "O mau tempo atrasa a entrega.", "why.delay": "Está a demorar um pouco mais.", "why.attempt": "Uma tentativa de entrega não teve êxito.",
			"why.address": "A morada não foi encontrada.", "why.back": "Volta para o remetente.", "why.damaged": "Ficou danificada.", "why.lost": "Está a ser procurada.", "why.held": "Aguarda levantamento ou esclarecimento.",
		},
	},
}

var (
	englishDays   = [7]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
	englishMonths = [12]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
	englishTexts  = map[string]string{
		"title": "Your parcel", "from": "from", "expected": "Expected delivery", "delivered_on": "Delivered on", "none": "No date is known yet",
		"history": "History", "carrier": "Carrier", "number": "Tracking number", "to": "Going to", "parcel": "Parcel", "language": "Language", "progress": "Progress",
		"times": "Times are those of each place.", "checked": "Last checked", "test": "This is a test: no parcel is on its way.",
		"missing_title": "We cannot find this parcel", "missing": "Check the link, or ask the sender.",
		"busy_title": "One moment", "busy": "This page is asked for too often. Try again in a minute.",
		"later_title": "Tracking is not available right now", "later": "Please try again in a few minutes.",
		"created": "Announced", "label_generated": "Prepared", "picked_up": "Picked up", "in_transit": "On its way", "out_for_delivery": "Out for delivery", "delivered": "Delivered", "exception": "Delayed", "voided": "Cancelled",
		"created.long": "The sender prepares the parcel.", "label_generated.long": "The parcel is ready for the carrier.", "picked_up.long": "The carrier has the parcel.",
		"in_transit.long": "The parcel is on its way.", "out_for_delivery.long": "The parcel is out for delivery.", "delivered.long": "The parcel was delivered.",
		"exception.long": "The parcel is held up.", "voided.long": "The sender has cancelled this shipment.",
		"why.customs": "It is with customs.", "why.weather": "The weather delays it.", "why.delay": "It takes a little longer.", "why.attempt": "An attempt to deliver it failed.",
		"why.address": "The address was not found.", "why.back": "It goes back to the sender.", "why.damaged": "It was damaged.", "why.lost": "It is being looked for.", "why.held": "It waits to be collected or cleared up.",
	}
)

// whys are what recipients are told of carriers' reasons. A reason that is not
// here is not told.
var whys = map[string]string{
	"customs_hold": "why.customs", "broker_notified": "why.customs", "prohibited": "why.customs", "seized": "why.customs",
	"weather_delay": "why.weather",
	"delayed":       "why.delay", "misrouted": "why.delay", "not_arrived": "why.delay", "missed_delivery_cycle": "why.delay", "pickup_delayed": "why.delay", "pickup_failed": "why.delay", "rescheduled": "why.delay",
	"delivery_attempted": "why.attempt", "delivery_attempt_failed": "why.attempt", "recipient_unavailable": "why.attempt", "receiver_unreachable": "why.attempt", "access_problem": "why.attempt",
	"address_not_found": "why.address", "undeliverable": "why.address", "recipient_moved": "why.address", "not_served": "why.address", "label_problem": "why.address",
	"return_to_sender": "why.back", "returned": "why.back", "refused": "why.back", "intercepted": "why.back",
	"damaged": "why.damaged", "lost": "why.lost", "investigation": "why.lost", "trace_opened": "why.lost", "contents_missing": "why.lost",
	"held": "why.held", "held_for_payment": "why.held", "payment_required": "why.held", "stopped": "why.held",
}
