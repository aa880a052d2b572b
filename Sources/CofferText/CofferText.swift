// CofferText
