// CofferSealing
